//! Libraries with kernels that are installed, and build systems other than CMake with make.

#[path = "common/process.rs"]
mod process;

use std::path::{Path, PathBuf};
use std::process::Command;

use process::run;

const KC: &str = env!("CARGO_BIN_EXE_kc");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// `grow` of two files, whose kernels do not know each other.
fn kernels(factor: &str) -> String {
    format!(
        "import warp as wp\n\n@wp.kernel\ndef grow(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = x[i] * {factor}\n"
    )
}

/// A library whose headers show kernels: `a/sim.h` and `b/sim.h`, since the files have one name.
const LIBRARY: &str = "cmake_minimum_required(VERSION 3.16)
project(grower VERSION 1.0 LANGUAGES CXX)
find_package(kc REQUIRED)
kc_add_kernels(kernels a/sim.py b/sim.py)
kc_install_kernels(kernels EXPORT growerTargets)
install(EXPORT growerTargets NAMESPACE grower:: DESTINATION lib/cmake/grower)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/growerConfig.cmake
  \"include(CMakeFindDependencyMacro)\\nfind_dependency(Threads)\\ninclude(\\${CMAKE_CURRENT_LIST_DIR}/growerTargets.cmake)\\n\")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/growerConfig.cmake DESTINATION lib/cmake/grower)
";

const USER: &str = "cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES CXX)
find_package(grower REQUIRED)
add_executable(user main.cpp)
target_compile_features(user PRIVATE cxx_std_17)
target_compile_options(user PRIVATE -Wall -Wextra -Wold-style-cast -Werror)
target_link_libraries(user PRIVATE grower::kernels)
";

const PROGRAM: &str = "#include \"a/sim.h\"
#include \"b/sim.h\"
#include <cstdio>
int main()
{
    std::vector<float> x = {1, 2};
    kc::launch(sim::a_grow_cpu_launch, {2}, sim::a_grow_args{x});
    kc::launch(sim::b_grow_cpu_launch, {2}, sim::b_grow_args{x});
    std::printf(\"%g %g\\n\", x[0], x[1]);
}
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in files {
            let path = folder.path(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn cmake(&self, arguments: &[&str]) -> String {
        let cmake = std::env::var("KC_CMAKE").unwrap_or_else(|_| "cmake".to_string());
        run(Command::new(cmake).args(arguments).current_dir(self.0.path()))
    }
}

/// From the prefix, after it was moved and everything else is gone.
#[test]
fn an_installed_library_is_found_and_runs() {
    let (a, b) = (kernels("2.0"), kernels("5.0"));
    let folder = Folder::new(&[
        ("library/CMakeLists.txt", LIBRARY),
        ("library/a/sim.py", &a),
        ("library/b/sim.py", &b),
        ("user/CMakeLists.txt", USER),
        ("user/main.cpp", PROGRAM),
    ]);
    let (config, program) = (format!("-Dkc_DIR={ROOT}/scripts/cmake"), format!("-DKC_PROGRAM={KC}"));
    folder.cmake(&["-S", "library", "-B", "build", "-DCMAKE_INSTALL_PREFIX=/usr", &config, &program]);
    folder.cmake(&["--build", "build"]);
    folder.cmake(&["--install", "build", "--prefix", "first"]);
    for gone in ["library", "build"] {
        std::fs::remove_dir_all(folder.path(gone)).expect("it is ours");
    }
    std::fs::rename(folder.path("first"), folder.path("prefix")).expect("it is ours");
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", folder.path("prefix").display());
    folder.cmake(&["-S", "user", "-B", "out", &prefix]);
    folder.cmake(&["--build", "out"]);
    assert_eq!(run(&mut Command::new(folder.path("out/user"))), "10 20\n");
    // Descriptions and rules for make stay behind.
    let installed = run(Command::new("find").args(["prefix/include", "-type", "f"]).current_dir(folder.0.path()));
    let mut names: Vec<&str> = installed.lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["prefix/include/kernels/a/sim.h", "prefix/include/kernels/b/sim.h"]);
}

/// The blocks of a language in a page.
fn block(page: &str, language: &str) -> String {
    let text = std::fs::read_to_string(Path::new(ROOT).join("docs").join(page)).expect("the page");
    let fence = format!("\n```{language}\n");
    let (_, rest) = text.split_once(&fence).unwrap_or_else(|| panic!("{page} has no {language}"));
    rest.split_once("```\n").expect("a fence that is closed").0.to_string()
}

const WAVE: &str = "#include \"wave2d.h\"
#include <cstdio>
int main() { std::printf(\"%s\\n\", wave2d::step_cpu_grain > 0 ? \"built\" : \"\"); }
";

/// What the page shows, in a folder with the example's kernels: it builds, runs, and builds again
/// what has changed and nothing else.
#[test]
fn meson_and_make_build_what_the_page_shows() {
    let wave = std::fs::read_to_string(Path::new(ROOT).join("examples/wave2d.py")).expect("the example");
    let meson = format!(
        "project('wave', 'cpp', default_options: ['cpp_std=c++17'])\n{}",
        block("embedding-reference.md", "meson")
    );
    let folder = Folder::new(&[
        ("meson.build", &meson),
        ("Makefile", &block("embedding-reference.md", "make")),
        ("main.cpp", WAVE),
        ("wave2d.py", &wave),
    ]);
    let tools = Path::new(ROOT).join(".env-build/bin");
    assert!(tools.is_dir(), "`scripts/setup.sh test` makes .env-build");
    let kc = Path::new(KC).parent().expect("a folder");
    let path = format!("{}:{}:{}", tools.display(), kc.display(), std::env::var("PATH").unwrap_or_default());
    let sh =
        |command: &str| run(Command::new("sh").args(["-ec", command]).env("PATH", &path).current_dir(folder.0.path()));
    let changed = "sleep 1.1; echo '# changed' >> wave2d.py";
    sh("meson setup build");
    assert!(sh("meson compile -C build && build/wave").ends_with("built\n"));
    assert!(sh("meson compile -C build").contains("no work to do"));
    sh(changed);
    assert!(!sh("meson compile -C build").contains("no work to do"));
    assert!(sh("make && ./wave").ends_with("built\n"));
    assert!(sh("make").contains("up to date"));
    sh(changed);
    assert!(sh("make").contains("kc compile"));
}
