//! What a reader of CUDA text finds again of the source: names of constants, where a name
//! represents one number; docstrings and comments.

mod common;

use std::path::Path;

use kc::driver::{Artefact, Compiler, Options, Request};

/// The CUDA text of a file.
fn cuda(folder: &Path, text: &str) -> String {
    let path = folder.join("kernel.py");
    std::fs::write(&path, text).expect("the kernel");
    let mut compilation = Compiler::new().load(&path, &Request::default());
    let findings: Vec<&str> = compilation.diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert!(findings.is_empty(), "{findings:?}");
    let bytes = compilation.emit(Artefact::Cuda, &Options::default()).expect("CUDA text");
    let text = String::from_utf8(bytes).expect("text");
    common::assert_cuda(&text, "sm_75");
    text
}

#[test]
fn constants_keep_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("settings.py"), "import warp as wp\nREACH = wp.constant(7)\n").expect("a module");
    let text = cuda(
        folder.path(),
        "import warp as wp\nimport settings\n\
         SPEED = 2.5\nCOUNT = wp.constant(12)\nDOUBLE = COUNT * 2\nGRAVITY = wp.constant(wp.vec3(0.0, -9.81, 0.25))\n\n\
         class Options:\n    DAMPING = 0.75\n\n\
         @wp.kernel\ndef move(x: wp.array(dtype=wp.vec3), n: wp.array(dtype=int), SPEED_2: float):\n    i = wp.tid()\n    \
         x[i] = x[i] * SPEED * SPEED_2 * Options.DAMPING + GRAVITY\n    n[i] = (n[i] + settings.REACH) % COUNT + DOUBLE + 12\n",
    );
    for line in [
        "constexpr float SPEED = 2.5f;",
        "constexpr int COUNT = 12;",
        "constexpr int DOUBLE = 24;",
        "constexpr int REACH = 7;",
        "constexpr float Options_DAMPING = 0.75f;",
        "static __constant__ const vec3 GRAVITY = {0.0f, -9.81f, 0.25f};",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.contains("x[i] = x[i] * SPEED * SPEED_2 * Options_DAMPING + GRAVITY;"), "{text}");
    assert!(text.contains("% COUNT + DOUBLE + 12"), "{text}");
}

#[test]
fn a_name_with_several_meanings_is_none() {
    let folder = tempfile::tempdir().expect("a folder");
    // A kernel made twice, a number that is an integer and a float, names that C++ knows, a
    // parameter of the name.
    let text = cuda(
        folder.path(),
        "import warp as wp\nMIXED = 3\nM_PI = 3.5\ny1 = 5.5\nINT_MAX = 7\nlimit = 9\n\n\
         def make(size):\n    @wp.kernel\n    def scale(x: wp.array(dtype=float)):\n        x[wp.tid()] = x[wp.tid()] * size\n    return scale\n\
         small = make(2.5)\nlarge = make(4.5)\n\n\
         @wp.kernel\ndef mix(x: wp.array(dtype=float), k: wp.array(dtype=int), limit: int):\n    i = wp.tid()\n    \
         x[i] = x[i] * float(MIXED) * M_PI + y1\n    k[i] = (k[i] + MIXED + INT_MAX) % limit\n",
    );
    assert!(!text.contains("M_PI") && !text.contains("+ y1") && !text.contains("INT_MAX"), "{text}");
    assert!(!text.contains("constexpr float size"), "{text}");
    assert!(text.contains("2.5f") && text.contains("4.5f"), "{text}");
    assert!(!text.contains("constexpr int limit"), "{text}");
}

#[test]
fn docstrings_and_comments_go_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = cuda(
        folder.path(),
        "import warp as wp\n\n# A remark on the module.\n\n@wp.func\ndef square(x: float):\n    \"\"\"The square.\n\n    Of x.\\\\\n    \"\"\"\n    \
         return x * x  # by itself\n\n\
         @wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):\n    \"Sums squares.\"\n    i = wp.tid()\n    \
         # nobody is outside \\\n    if i >= n:\n        return\n    # Two lines:\n    # the start\n    s = float(0.0)\n    \
         for j in range(n):  # noqa: a directive\n        # one more '#'\n        s += square(x[j]) * 2.0\n    y[i] = s  # done\n    # after all\n",
    );
    for line in [
        "// The square.\n//\n// Of x.\nstatic __device__ float square(float x) {\n    return x * x;  // by itself\n}",
        "// Sums squares.\nextern \"C\" __global__ void k_cuda_kernel_forward(",
        "        // Two lines:\n        // the start\n        float s = 0.0f;",
        "            s += square(x[j]) * 2.0f;  // one more '#'",
        "y[i] = s;  // done",
        "// nobody is outside\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Once, in forward code; what is for tools, or about no code, not at all.
    for (said, times) in
        [("the start", 1), ("done", 1), ("by itself", 1), ("noqa", 0), ("after all", 0), ("on the module", 0)]
    {
        assert_eq!(text.matches(said).count(), times, "{said}\n{text}");
    }
}
