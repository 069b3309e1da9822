//! The `kc` command.

fn main() -> std::process::ExitCode {
    kc::cli::run(std::env::args_os())
}
