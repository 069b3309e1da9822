//! Barriers in every back end: neither dropped nor repeated, with the accesses to memory on their
//! own sides.

use std::path::Path;
use std::process::Command;

/// Neighbours' values of the same block, twice; the second barrier is inside a loop with a branch.
/// `@meet` is a function.
const NEIGHBOURS: &str = "\
func @meet() {
  barrier
  return
}

kernel @k(%a: array(dtype=float32), %b: array(dtype=float32), %n: int32) rank 1 {
  %i: int32 = thread_index 0
  %zero: int32 = const 0
  %one: int32 = const 1
  %x: float32 = load %a[%i]
  %y: float32 = mul %x, %x
  store %b[%i], %y
  barrier
  %s: int32 = sub %i, %one
  %z: float32 = load %b[%s]
  call @meet()
  store %b[%i], %z
  %sum: float32 = for %j: int32 = %zero to %n step %one carry %v: float32 = %z {
    %first: bool = lt %j, %i
    %more: float32 = if %first {
      %p: float32 = add %v, %x
      yield %p
    } else {
      %q: float32 = mul %v, %y
      yield %q
    }
    barrier
    yield %more
  }
  store %a[%i], %sum
  return
}
";

fn kc(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).current_dir(folder).args(args).output().expect("kc runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}\n{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a kernel compiles to, as the sequence of its lines that hold one of `marks`, each as that
/// mark.
fn sequence<'m>(emit: &str, options: &[&str], marks: &[&'m str]) -> Vec<&'m str> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.ir"), NEIGHBOURS).expect("the kernel");
    let mut args = vec!["compile", "k.ir", "--no-backward", "--emit", emit, "-o", "-"];
    args.extend(options);
    let text = kc(folder.path(), &args);
    text.lines().filter_map(|line| marks.iter().copied().find(|mark| line.contains(mark))).collect()
}

#[test]
fn ptx_waits_once_for_each_barrier() {
    let marks = ["ld.global", "st.global", "bar.sync"];
    let (load, store, wait) = (marks[0], marks[1], marks[2]);
    for opt in ["full", "lean"] {
        let mut found = sequence("ptx", &["--opt", opt], &marks);
        // The kernel is a loop over its tasks, and blocks of a loop stand in any order: what is
        // straight is read from its first load on; behind it come the barrier of the inner loop and
        // the last store.
        let first = found.iter().position(|mark| *mark == load).expect("a load");
        found.rotate_left(first);
        let (straight, rest) = found.split_at(6);
        assert_eq!(straight, [load, store, wait, load, wait, store], "{opt}: {found:?}");
        assert!(rest == [wait, store] || rest == [store, wait], "{opt}: {found:?}");
    }
}

#[test]
fn cuda_text_waits_once_for_each_barrier() {
    let found = sequence("cuda", &[], &["__syncthreads();", "b[i] =", "b.at(", "= b[", "a[i] ="]);
    let own = found.iter().filter(|mark| **mark == "__syncthreads();").count();
    // One of them is in `meet`, before the kernel.
    assert_eq!(own, 3, "{found:?}");
    let kernel = &found[1..];
    let store = kernel.iter().position(|mark| *mark == "b[i] =").expect("the first store");
    assert_eq!(kernel[store + 1], "__syncthreads();", "{found:?}");
    assert!(["b.at(", "= b["].contains(&kernel[store + 2]), "the load stands behind the barrier: {found:?}");
}

/// Each thread uses elements of its own, so that blocks of any size give the same.
const ALONE: &str = "\
kernel @k(%a: array(dtype=float32), %b: array(dtype=float32)) rank 1 {
  %i: int32 = thread_index 0
  %zero: int32 = const 0
  %one: int32 = const 1
  %four: int32 = const 4
  %x: float32 = load %a[%i]
  for %j: int32 = %zero to %four step %one {
    %old: float32 = load %b[%i]
    %new: float32 = fma %old, %x, %x
    store %b[%i], %new
    barrier
  }
  %last: float32 = load %b[%i]
  store %a[%i], %last
  barrier
  return
}
";

#[test]
fn host_and_interpreter_run_past_barriers() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("with.ir"), ALONE).expect("the kernel");
    std::fs::write(folder.path().join("without.ir"), ALONE.replace("barrier\n", "\n")).expect("the kernel");
    let run = |file: &str, device: &str| {
        let arrays = ["--arg", "a=range:f32:70", "--arg", "b=ones:f32:70"];
        let mut args = vec!["run", file, "--dim", "70", "--device", device, "--print", "a:70"];
        args.extend(arrays);
        let text = kc(folder.path(), &args);
        // The time that the run took is not compared.
        text.lines().filter(|line| !line.starts_with("k: ")).collect::<Vec<_>>().join("\n")
    };
    let expected = run("without.ir", "interp");
    assert!(expected.contains("69"), "{expected}");
    for device in ["host", "interp"] {
        assert_eq!(run("with.ir", device), expected, "{device}");
    }
}

#[test]
fn a_barrier_for_some_threads_only_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = ALONE.replace("  barrier\n  return", "  %t: bool = gt %i, %four\n  if %t {\n    barrier\n  }\n  return");
    std::fs::write(folder.path().join("k.ir"), text).expect("the kernel");
    for verb in [&["check", "k.ir"][..], &["compile", "k.ir", "--emit", "ptx", "-o", "-"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_kc")).current_dir(&folder).args(verb).output().expect("kc runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("E0909") && said.contains("only some threads of a block"), "{said}");
        assert!(!said.contains(".entry"), "{said}");
    }
}
