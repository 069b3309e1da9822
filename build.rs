//! Generates the parser from `grammar/`.

fn main() {
    println!("cargo:rerun-if-changed=grammar");
    if let Err(error) = lalrpop::Configuration::new()
        .set_in_dir("grammar")
        .set_out_dir(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"))
        .process()
    {
        panic!("grammar/: {error}");
    }
}
