//! `b2`: a command-line tool for Blosc2 files.
//!
//! - [`args`]: the command line
//! - [`info`], [`verify`], [`repair`], [`compress`], [`decompress`], [`convert`], [`mod@bench`]:
//!   the commands
//! - [`open`], [`source`], [`check`]: reading frames (`oxiblosc-repair` reads damaged ones)
//! - [`store`], [`member`], [`listing`]: stores of python-blosc2, which hold several frames
//! - [`workers`]: work by several threads; [`chunks`]: chunks that they decompress; [`typesize`]:
//!   which size of items suits a file
//! - [`faults`]: errors that show no damage; [`memory`], [`reserve`]: the end when there is no
//!   memory; [`report`]: the report of `repair`
//! - [`library`]: the library's contexts, super-chunks and arrays, set up as the options say
//! - [`npy`], [`msgpack`], [`json`]: other file formats
//! - [`input`], [`output`], [`paths`], [`place`], [`placing`], [`frame_files`], [`scratch`]: files
//!   and pipes; [`mod@print`], [`progress`], [`picture`], [`text`]: what people see
#![forbid(unsafe_code)]

mod args;
mod array_walk;
mod bench;
mod check;
mod chunks;
mod compress;
mod convert;
mod decompress;
mod failure;
mod faults;
mod frame_files;
mod info;
mod input;
mod json;
mod library;
mod listing;
mod member;
mod memory;
mod msgpack;
mod npy;
mod open;
mod output;
mod paths;
mod picture;
mod place;
mod placing;
mod print;
mod progress;
mod repair;
mod report;
mod reserve;
mod scratch;
mod settings;
mod source;
mod store;
mod summary;
mod system;
mod text;
mod typesize;
mod verify;
mod workers;

use args::{Cli, Command, Shell};
use clap::{CommandFactory, Parser};
use failure::{Failure, Outcome, Result};
use print::said;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// The exit code when data are damaged.
const DAMAGED: u8 = 1;
/// The exit code when a command failed for another reason, when its output could not be written, or
/// when its arguments are wrong.
const FAILED: u8 = 2;

#[global_allocator]
static ALLOCATOR: oxiblosc_startup::Allocator = oxiblosc_startup::Allocator;

fn main() -> ExitCode {
    memory::prepare();
    print::prepare();
    let outcome = match Cli::try_parse() {
        Ok(cli) => run(&cli.command),
        Err(wrong) if wrong.use_stderr() => wrong.exit(),
        Err(asked_for) => help(&asked_for),
    };
    let unwritten = print::has_write_error();
    match outcome {
        Ok(Outcome::Fine) if unwritten => ExitCode::from(FAILED),
        Ok(Outcome::Fine) => ExitCode::SUCCESS,
        Ok(Outcome::Damaged) => ExitCode::from(DAMAGED),
        Err(Failure::Message(text)) => {
            print::print_error(&text);
            ExitCode::from(FAILED)
        }
        Err(Failure::Damaged(text)) => {
            print::print_error(&text);
            ExitCode::from(DAMAGED)
        }
        Err(Failure::Reported | Failure::BrokenPipe) => ExitCode::from(FAILED),
    }
}

fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::Info(args) => info::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Repair(args) => repair::run(args),
        Command::Compress(args) => compress::run(args),
        Command::Decompress(args) => decompress::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions { shell } => completions(*shell),
        Command::Manual => manual(),
    }
}

/// Prints the help or the version, in colours on a terminal.
fn help(text: &clap::Error) -> Result<Outcome> {
    match std::io::stdout().is_terminal() {
        true => said(text.print())?,
        false => print::print_text(text.render().to_string().as_bytes()),
    }
    Ok(Outcome::Fine)
}

fn completions(shell: Shell) -> Result<Outcome> {
    use clap_complete::Shell as Known;
    let shell = match shell {
        Shell::Bash => Known::Bash,
        Shell::Zsh => Known::Zsh,
        Shell::Fish => Known::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "b2", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Known::Bash => print::print_text(with_files(&script).as_bytes()),
        _ => print::print_text(script.as_bytes()),
    }
    Ok(Outcome::Fine)
}

/// The script for Bash, which offers the options of a command only for what begins with a dash, and
/// files for all else.
fn with_files(script: &str) -> String {
    let takes_files = |name: &str| {
        let cli = Cli::command();
        let command = cli.find_subcommand(name);
        command.is_some_and(|command| {
            let mut arguments = command.get_positionals();
            arguments.any(|argument| argument.get_possible_values().is_empty())
        })
    };
    let mut out = String::new();
    let mut in_files = false;
    for line in script.lines() {
        if let Some(label) = line.trim().strip_suffix(')')
            && let Some(name) = label.strip_prefix("b2__subcmd__")
        {
            in_files = takes_files(name);
        }
        let options = "COMPREPLY=( $(compgen -W \"${opts}\" -- \"${cur}\") )";
        let is_last = line.strip_prefix("            ") == Some(options);
        // Where nothing is offered, Bash offers files.
        out += &match in_files {
            true if is_last => "            COMPREPLY=()".to_string(),
            true => line.replace(" || ${COMP_CWORD} -eq 2 ", " "),
            false => line.to_string(),
        };
        out.push('\n');
    }
    out
}

/// Prints the manual page.
fn manual() -> Result<Outcome> {
    let mut page = Vec::new();
    said(write_manual(&mut page))?;
    print::print_text(&page);
    Ok(Outcome::Fine)
}

/// Writes the manual page: the tool, then each command with its arguments.
fn write_manual(out: &mut Vec<u8>) -> io::Result<()> {
    let mut tool = Cli::command();
    tool.build();
    let page = clap_mangen::Man::new(tool.clone());
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    for command in tool
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
    {
        let name = command.get_name().to_uppercase();
        if name == "HELP" {
            continue;
        }
        writeln!(out, ".SH \"B2 {name}\"")?;
        let about = command.get_long_about().or(command.get_about());
        if let Some(about) = about {
            writeln!(out, "{}", roff(&about.to_string()))?;
        }
        let mut usage = command.clone();
        writeln!(out, ".PP\n{}", roff(&usage.render_usage().to_string()))?;
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let mut names: Vec<String> = Vec::new();
            names.extend(arg.get_short().map(|short| format!("-{short}")));
            names.extend(arg.get_long().map(|long| format!("--{long}")));
            let value = arg.get_value_names().unwrap_or_default();
            let value: Vec<&str> = value.iter().map(|name| name.as_str()).collect();
            let takes = arg.get_action().takes_values();
            let value = if takes {
                value.join(" ")
            } else {
                String::new()
            };
            let head = format!("{} {value}", names.join(", "));
            let help = arg.get_long_help().or(arg.get_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            writeln!(out, ".TP\n\\fB{}\\fR\n{}", roff(head.trim()), roff(&help))?;
        }
        if let Some(example) = command.get_after_help() {
            writeln!(out, ".PP\n.nf\n{}\n.fi", roff(&example.to_string()))?;
        }
    }
    writeln!(
        out,
        ".SH \"EXIT STATUS\"\n0 when all is well, 1 when data are damaged or lost, 2 when the command could not be done for another reason, or what it says could not be written."
    )
}

/// Escapes text for a manual page.
fn roff(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        if line.starts_with(['.', '\'']) {
            format!("\\&{line}")
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}
