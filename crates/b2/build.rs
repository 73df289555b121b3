//! Links the tool with what LDFLAGS asks for, as packagers expect of a program.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LDFLAGS");
    for flag in std::env::var("LDFLAGS")
        .unwrap_or_default()
        .split_whitespace()
    {
        println!("cargo::rustc-link-arg-bins={flag}");
    }
}
