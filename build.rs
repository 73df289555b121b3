//! Links the shared library under the reference's name, so that it takes its place at run time, and
//! with what LDFLAGS asks for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LDFLAGS");
    for flag in std::env::var("LDFLAGS")
        .unwrap_or_default()
        .split_whitespace()
    {
        println!("cargo::rustc-cdylib-link-arg={flag}");
    }
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    if target("OS") == "windows" && target("ENV") == "gnu" {
        // Cargo calls it blosc2.dll; whoever links to it asks for the name in this file.
        let name = std::env::current_dir()
            .expect("a package has a folder")
            .join("src/libblosc2.def");
        println!("cargo::rustc-cdylib-link-arg={}", name.display());
    }
    if target("OS") != "linux" {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libblosc2.so.9");
    // Worker threads may be parked in the library when a program calls dlclose: it stays mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
