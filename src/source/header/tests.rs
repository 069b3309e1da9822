use std::path::{Path, PathBuf};

use super::{Header, Number};
use crate::source::FileSystem;

#[derive(Debug)]
struct Files<'a>(&'a [(&'a str, &'a str)]);

impl FileSystem for Files<'_> {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        self.0.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| Ok((*text).to_string()))
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_path_buf()
    }
}

fn header(text: &str) -> Header {
    Header::of_package(Path::new("/p/engine"), &Files(&[("/p/engine/include/engine.h", text)])).expect("a header")
}

/// `name = number` of what has one, in order.
fn numbers(text: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for (name, (number, _)) in header(text).numbers {
        found.push(match number {
            Number::Int(value) => format!("{name}={value}"),
            Number::Float(value) => format!("{name}={value:?}"),
        });
    }
    found.sort();
    found.join(" ")
}

fn members(text: &str, name: &str) -> Option<String> {
    let header = header(text);
    let members = header.enumerations.get(name)?;
    Some(members.iter().map(|member| format!("{}={}", member.name, member.value)).collect::<Vec<_>>().join(" "))
}

#[test]
fn definitions_with_numbers() {
    assert_eq!(numbers("#define A 50 // most\n#define B 1E-15\n  # define C (-0x1F)\n#define D 010u\n"), {
        "A=50 B=1e-15 C=-31 D=8"
    });
    assert_eq!(numbers("#define A (B << 2 | 1)\n#define B 3\n#define C A * \\\n 2 - 1\n"), "A=13 B=3 C=25");
    // The text of `A` takes its place in `B`, which is `1 + 1 * 2`.
    assert_eq!(numbers("#define A 1 + 1\n#define B A * 2\n#define C A\n#define D -3\n#define E 2 * D\n"), {
        "A=2 C=2 D=-3 E=-6"
    });
    assert_eq!(numbers("#define A 2 /* two\n lines */\n#define B \"/* 3\"\n#define C 4\n"), "A=2 C=4");
    assert_eq!(numbers("#define A 0.1f\n"), format!("A={:?}", f64::from(0.1f32)));
    assert_eq!(numbers("#define A(x) x\n#define B sizeof(int)\n#define C C\n#define D (int)3\n#define E ~0\n"), "");
    assert_eq!(numbers("#define A 1 << 31\n#define B 2147483647 + 1\n#define C 1 / 2\n"), "");
}

#[test]
fn what_is_defined_twice_is_not_known() {
    assert_eq!(numbers("#define A 1\n#define A 2\n#define B 3\n#define B 3\n#define C 4\n#undef C\n"), "B=3");
}

#[test]
fn sides_of_conditions() {
    let text =
        "#ifndef GUARD\n#define GUARD\n#ifndef SINGLE\n#define EPS 1e-15\n#else\n#define EPS 1e-7f\n#endif\n#endif\n";
    assert_eq!(numbers(text), "EPS=1e-15");
    assert_eq!(numbers(&format!("#define SINGLE\n{text}")), format!("EPS={:?}", f64::from(1e-7f32)));
    assert_eq!(numbers("#ifdef _WIN32\n#define A 1\n#else\n#define A 2\n#endif\n#define B 3\n"), "B=3");
    assert_eq!(numbers("#ifdef _WIN32\n#define A 1\n#else\n#define B 2\n#endif\n"), "");
    assert_eq!(numbers("#if VERSION > 3\n#define A 1\n#elif 1\n#define B 2\n#endif\n"), "");
    assert_eq!(numbers("#if 0\n#define A 1\n#elif 1\n#define B 2\n#else\n#define C 3\n#endif\n"), "B=2");
    assert_eq!(numbers("#if !defined(FAST)\n#define A 1\n#elif 1\n#define A 2\n#endif\n"), "A=1");
    assert_eq!(numbers("#ifndef __LIMIT\n#define __LIMIT 7\n#endif\n"), "__LIMIT=7");
}

#[test]
fn enumerations() {
    let text = "#define FIRST 4\ntypedef enum shape_ { // kinds\n A, B = FIRST, C, /* D, */ E = B | 1<<3,\n} shape;\n";
    assert_eq!(members(text, "shape").as_deref(), Some("A=0 B=4 C=5 E=12"));
    assert_eq!(members(text, "shape_").as_deref(), Some("A=0 B=4 C=5 E=12"));
    assert_eq!(members("enum k { A = -1, B };\nenum l f(enum k);\n", "k").as_deref(), Some("A=-1 B=0"));
    assert_eq!(members("enum j { J = 5 };\nenum k { A = J + 1 };\n", "k").as_deref(), Some("A=6"));
    // What one member is, and so those behind it, the compiler or another header says.
    assert_eq!(members("enum k { A,\n#ifdef _WIN32\n B,\n#endif\n C };\n", "k"), None);
    assert_eq!(members("enum k { A = OTHER, B };\n", "k"), None);
    assert_eq!(members("enum k { A = 0.5 };\n", "k"), None);
    assert_eq!(members("enum k { A, B", "k"), None);
    assert_eq!(members("enum class k { A };\n", "k"), None);
}

#[test]
fn included_headers() {
    let files = Files(&[
        ("/p/engine/include/engine/engine.h", "#include <stdio.h>\n#include <engine/a.h>\n#include \"b.h\"\n"),
        ("/p/engine/include/engine/a.h", "#include <engine/engine.h>\n#define A 1\n"),
        ("/p/engine/include/engine/b.h", "enum k { X = A };\n#define B A\n"),
    ]);
    let header = Header::of_package(Path::new("/p/engine"), &files).expect("a header");
    assert_eq!(header.numbers["B"].0, Number::Int(1));
    let member = &header.enumerations["k"][0];
    assert_eq!((member.name.as_str(), member.value), ("X", 1));
    let (file, place) = &member.place;
    assert_eq!(&header.files[*file].1[place.start as usize..place.end as usize], "X");
    assert!(Header::of_package(Path::new("/p/other"), &files).is_none());
}

/// No text makes the reader panic or run on: prefixes of a header, and each byte of it left out.
#[test]
fn broken_texts() {
    let text = "#ifndef G\n#define G\n#define A (1<<2) /* c */\n#if defined(A)\ntypedef enum t_ { X = A | 1, Y } t;\n\
                #elif 0\n#else\n#endif\n#define S \"a\\\"é\" // é\n#endif\n";
    for (at, c) in text.char_indices() {
        header(&text[..at]);
        header(&format!("{}{}", &text[..at], &text[at + c.len_utf8()..]));
    }
    header(&format!("#define A {}1\n", "(".repeat(10_000)));
    let doubles: String = (1..40).map(|n| format!("#define A{n} A{} + A{0}\n", n - 1)).collect();
    header(&doubles);
    header(&format!("enum e {{ A = {}1 }};\n", "-".repeat(10_000)));
}

#[test]
fn a_header_is_as_old_as_its_files() {
    let main = ("/p/engine/include/engine.h", "#include <more.h>\n#include \"none.h\"\n");
    let more = ("/p/engine/include/more.h", "#define A 1\n");
    let header = Header::of_package(Path::new("/p/engine"), &Files(&[main, more])).expect("a header");
    assert!(header.is_current(&Files(&[main, more])));
    assert!(!header.is_current(&Files(&[main])));
    assert!(!header.is_current(&Files(&[main, ("/p/engine/include/more.h", "#define A 2\n")])));
    assert!(!header.is_current(&Files(&[main, more, ("/p/engine/include/none.h", "")])));
}
