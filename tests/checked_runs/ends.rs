//! Where do local arrays, tiles and small elements end? On every device at the same index.

use super::*;

/// The simulator too, which sees of memory only what belongs to nobody.
#[test]
fn local_arrays_end_on_every_device() {
    let text = r#"
import warp as wp


@wp.kernel
def read(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=4, dtype=float)
    for j in range(4):
        a[j] = x[j]
    y[i] = a[n[i]]


@wp.kernel
def write(x: wp.array(dtype=float), n: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.zeros(shape=(2, 4), dtype=float)
    a[0, n[i]] = x[i]
    y[i] = a[0, 0] + a[1, 0]
"#;
    let folder = Folder::new(text);
    for device in DEVICES {
        for kernel in ["read", "write"] {
            for (n, inside) in [(3, true), (-4, true), (4, false), (-5, false), (100, false)] {
                let args = format!("--arg x=ones:4 --arg n=0,{n} --arg y=zeros:2 --dim 2 --device {device}");
                let (exit, said) = folder.run(kernel, &args);
                assert_eq!(
                    (exit, said.contains(&format!("index {n} is out of bounds"))),
                    (Some(i32::from(!inside)), !inside),
                    "{device} {kernel} {n}: {said}"
                );
            }
        }
    }
}

/// The passes that share tiles among threads, and make numbers of small ones, leave nothing of such
/// an index.
#[test]
fn tiles_end_on_every_device() {
    let text = r#"
import warp as wp


@wp.kernel
def read(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4)
    y[i] = t[n]


@wp.kernel
def read_shared(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, storage="shared")
    y[i] = t[n]


@wp.kernel
def write(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4)
    t[n] = 1.0
    wp.tile_store(y, t)


@wp.kernel
def add(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x, shape=4, storage="shared")
    t[n] += 1.0
    wp.tile_store(y, t)


@wp.kernel
def rows(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_zeros(shape=(2, 4), dtype=float)
    t[0, n] = 1.0
    t[1, n] += x[0]
    y[i] = t[0, n]


@wp.kernel
def of_threads(n: int, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    b, i = wp.tid()
    t = wp.tile(x[i])
    y[i] = t[i / 4 + n]


@wp.kernel
def shift(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=4)
    z = wp.tile_zeros(shape=4, dtype=float)
    for j in range(4):
        z[j] = t[j + 1]
    wp.tile_store(y, z)


@wp.kernel
def far(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=4)
    for j in range(3, 6):
        t[j] = 1.0
    wp.tile_store(y, t)
"#;
    let folder = Folder::new(text);
    for device in DEVICES {
        let args = format!("--arg x=ones:4 --arg y=zeros:4 --block-dim 4 --device {device}");
        for kernel in ["read", "read_shared", "write", "add", "rows", "of_threads"] {
            let dim = if kernel == "of_threads" { "1x4" } else { "4" };
            for (n, inside) in [(3, true), (-4, true), (4, false), (-5, false), (100, false)] {
                let (exit, said) = folder.run(kernel, &format!("{args} --dim {dim} --arg n={n}"));
                let is = (exit, said.contains(&format!("index {n} is out of bounds for dimension")));
                assert_eq!(is, (Some(i32::from(!inside)), !inside), "{device} {kernel} {n}: {said}");
            }
        }
        for (kernel, line) in [("shift", 56), ("far", 64)] {
            let (exit, said) = folder.run(kernel, &format!("{args} --dim 4"));
            let words = "index 4 is out of bounds for dimension 0 of `t`, which has extent 4, in thread (0)";
            assert!(exit == Some(1) && said.contains(words), "{device} {kernel}: {said}");
            assert!(said.contains(&format!(":{line}:")), "{device} {kernel}: {said}");
        }
    }
}

/// On a GPU an atomic of 8 or 16 bits swaps the word around it, which may go over the end of the
/// array.
#[test]
fn atomics_of_few_bits_end_on_every_device() {
    let text = r#"
import warp as wp


@wp.kernel
def bytes(n: int, x: wp.array(dtype=wp.int8), y: wp.array(dtype=wp.int8)):
    i = wp.tid()
    wp.atomic_add(y, i % n, x[i])


@wp.kernel
def pairs(n: int, x: wp.array(dtype=wp.uint16), y: wp.array(dtype=wp.uint16)):
    i = wp.tid()
    wp.atomic_max(y, i % n, x[i])


@wp.kernel
def swaps(n: int, x: wp.array(dtype=wp.int16), y: wp.array(dtype=wp.int16)):
    i = wp.tid()
    wp.atomic_cas(y, i % n, wp.int16(0), x[i])
"#;
    let folder = Folder::new(text);
    for device in DEVICES {
        for (kernel, length) in [("bytes", 5), ("pairs", 3), ("swaps", 3)] {
            for n in [length, length + 1] {
                let args = format!("--arg x=ones:12 --arg y=zeros:{length} --arg n={n} --dim 12 --device {device}");
                let (exit, said) = folder.run(kernel, &args);
                let outside = n > length;
                assert_eq!(
                    (exit, said.contains("E1101")),
                    (Some(i32::from(outside)), outside),
                    "{device} {kernel} {n}: {said}"
                );
            }
        }
    }
}
