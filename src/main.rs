//! The program `scaler`. Everything is in the library; see its documentation for the map.

fn main() -> std::process::ExitCode {
    scaler::cli::main()
}
