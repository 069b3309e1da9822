//! Kernels of wave2d.py in a Rust program that does not link kc: it declares what wave2d.h does,
//! and divides launches among threads of its own.

use std::ffi::c_void;

#[repr(C)]
struct Bounds {
    shape: [u32; 4],
    size: u64,
}

#[repr(C)]
struct Array {
    data: *mut f32,
    grad: *mut f32,
    shape: [i32; 4],
    strides: [i32; 4],
    ndim: i32,
    flags: i32,
}

impl Array {
    /// A dense matrix; the caller keeps `data` until the launch is over.
    fn of(data: &mut [f32], rows: i32, columns: i32) -> Array {
        assert_eq!(data.len(), rows as usize * columns as usize);
        let (shape, strides) = ([rows, columns, 0, 0], [columns * 4, 4, 0, 0]);
        Array { data: data.as_mut_ptr(), grad: std::ptr::null_mut(), shape, strides, ndim: 2, flags: 0 }
    }
}

#[repr(C)]
struct StepArgs {
    now: Array,
    before: Array,
    courant: f32,
    damping: f32,
}

// The threads of a launch write to different elements.
unsafe impl Sync for StepArgs {}

unsafe extern "C" {
    fn step_cpu_kernel_forward(launch: *const Bounds, args: *const StepArgs, begin: u64, end: u64, status: *mut c_void);
}

fn main() {
    const N: i32 = 200;
    let mut now = vec![0.0f32; (N * N) as usize];
    now[(100 * N + 100) as usize] = 1.0;
    let mut before = now.clone();
    let launch = Bounds { shape: [N as u32, N as u32, 1, 1], size: (N * N) as u64 };
    for _ in 0..10 {
        let args = StepArgs {
            now: Array::of(&mut now, N, N),
            before: Array::of(&mut before, N, N),
            courant: 0.25,
            damping: 0.0,
        };
        let middle = launch.size / 2;
        std::thread::scope(|scope| {
            for (begin, end) in [(0, middle), (middle, launch.size)] {
                let (launch, args) = (&launch, &args);
                // SAFETY: the arguments are laid out as the header says, and the arrays outlive the
                // scope.
                scope.spawn(move || unsafe { step_cpu_kernel_forward(launch, args, begin, end, std::ptr::null_mut()) });
            }
        });
        std::mem::swap(&mut now, &mut before);
    }
    let sum: f64 = now.iter().map(|&height| f64::from(height)).sum();
    println!("sum {sum:.6}, in the middle {:.6}", now[(100 * N + 100) as usize]);
}
