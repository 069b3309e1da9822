//! What objects promise beside results: the stack that a thread needs, marks for processors that
//! guard jumps, and a way to `main` from each instruction for whoever samples.

#[path = "common/process.rs"]
mod process;

use std::path::Path;
use std::process::Command;

use process::run;

/// Small frames, a large one, and functions that call each other's code.
const KERNELS: &str = "import warp as wp

@wp.kernel
def small(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0

@wp.kernel
def shout(x: wp.array(dtype=float)):
    print(x[wp.tid()])

@wp.kernel
def fill(x: wp.array(dtype=float)):
    i = wp.tid()
    kept = wp.zeros(shape=20000, dtype=float)
    for j in range(20000):
        kept[(j * 7) % 20000] = x[j % 3] * float(j + 1)
    x[i] = kept[i] + kept[19999 - i]

@wp.kernel
def chain(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    for j in range(40):
        v = wp.sin(v) * wp.exp(-v) + float(j)
    m = wp.mat44(v, 1.0, 2.0, 3.0, 0.0, v + 4.0, 1.0, 2.0, 1.0, 0.0, 9.0, 1.0, 2.0, 1.0, 0.0, v + 7.0)
    wp.atomic_add(total, 0, wp.determinant(wp.inverse(m)) + v)
";

fn folder(options: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNELS).expect("a file");
    let compile = ["compile", "-q", "k.py", "--emit", "obj,header,meta"];
    run(Command::new(env!("CARGO_BIN_EXE_kc")).args(compile).args(options).current_dir(folder.path()));
    folder
}

fn sh(folder: &Path, command: &str) -> String {
    run(Command::new("sh").args(["-ec", command]).current_dir(folder))
}

/// Each entry runs on a stack that was painted before. Lazy binding would paint it too.
const PAINTED: &str = "#define _GNU_SOURCE
#include \"k.h\"
#include <pthread.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20, PAINT = 0xa5, THREADS = 3 };
static unsigned char *stack;
static uintptr_t top;
static float x[THREADS], adj_x[THREADS], total[1], adj_total[1] = {1};
static kc_launch_bounds launch;
static small_args small;
static small_backward_args small_back;
static shout_args shout;
static fill_args fill;
static fill_backward_args fill_back;
static chain_args chain;
static chain_backward_args chain_back;

#define RUNS(name, entry, args)                                              \\
    static void *name(void *unused)                                          \\
    {                                                                        \\
        top = (uintptr_t)__builtin_frame_address(0);                         \\
        entry(&launch, &args, 0, THREADS, NULL);                             \\
        return unused;                                                       \\
    }
RUNS(small_forward, small_cpu_kernel_forward, small)
RUNS(small_backward, small_cpu_kernel_backward, small_back)
RUNS(shout_forward, shout_cpu_kernel_forward, shout)
RUNS(fill_forward, fill_cpu_kernel_forward, fill)
RUNS(fill_backward, fill_cpu_kernel_backward, fill_back)
RUNS(chain_forward, chain_cpu_kernel_forward, chain)
RUNS(chain_backward, chain_cpu_kernel_backward, chain_back)

static void measure(const char *name, void *(*work)(void *))
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t n = 0;
    memset(stack, PAINT, SIZE);
    pthread_attr_init(&attr);
    if (pthread_attr_setstack(&attr, stack, SIZE) != 0 || pthread_create(&thread, &attr, work, NULL) != 0) exit(1);
    pthread_join(thread, NULL);
    while (stack[n] == PAINT) ++n;
    printf(\"%s %lu\\n\", name, (unsigned long)(top - (uintptr_t)(stack + n)));
}

int main(void)
{
    const int64_t threads[] = {THREADS};
    stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || !kc_launch_of(&launch, 1, threads)) return 1;
    fill.x = fill_x(x, THREADS);
    fill.x.grad = adj_x;
    shout.x = small.x = small_back.x = fill_back.x = chain.x = chain_back.x = fill.x;
    chain.total = chain_total(total, 1);
    chain.total.grad = adj_total;
    chain_back.total = chain.total;
    measure(\"small forward\", small_forward);
    measure(\"small backward\", small_backward);
    measure(\"shout forward\", shout_forward);
    measure(\"fill forward\", fill_forward);
    measure(\"fill backward\", fill_backward);
    measure(\"chain forward\", chain_forward);
    measure(\"chain backward\", chain_backward);
    return 0;
}
";

/// What the page asks for beside the stated bytes.
const OF_THE_LIBRARY: u64 = 16 << 10;

#[test]
fn the_description_says_how_much_stack_a_thread_needs() {
    for options in [&[][..], &["--checked"], &["--opt", "lean"], &["--cpu", "auto"]] {
        let folder = folder(options);
        std::fs::write(folder.path().join("c.c"), PAINTED).expect("a file");
        let said = sh(
            folder.path(),
            "gcc -O1 -fno-omit-frame-pointer -Wall -Werror -pthread c.c k.o -lm -Wl,-z,now -o p; ./p",
        );
        let text = std::fs::read_to_string(folder.path().join("k.json")).expect("the description");
        let description: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let mut stated = 0;
        for line in said.lines().filter(|line| line.contains("ward ")) {
            let words: Vec<&str> = line.split(' ').collect();
            let [kernel, phase, measured] = words[..] else { panic!("{said}") };
            let measured: u64 = measured.parse().expect("a number");
            let kernels = description["kernels"].as_array().expect("kernels").iter();
            let mut entries = kernels.filter(|one| one["name"] == kernel).map(|one| &one["entries"][phase]["host"]);
            let bytes = entries.next().and_then(|host| host["stack_bytes"].as_u64()).expect("a number");
            // The caller of the entry has a frame of its own between the two points.
            let more = 64 + if kernel == "shout" { OF_THE_LIBRARY } else { 0 };
            let shown = format!("{options:?} {line}, and the description says {bytes}");
            assert!(measured <= bytes + more, "{shown}");
            assert!(bytes <= measured * 2 + 2048, "{shown}");
            println!("{shown}");
            stated += 1;
        }
        assert_eq!(stated, 7);
        assert!(
            said.lines().any(|line| line.starts_with("fill ") && line.len() >= "fill forward 80000".len()),
            "{said}"
        );
    }
}

/// Programs that are linked with protection of jumps keep it: linkers drop it for a whole program
/// where one object does not say that it has it.
#[test]
fn objects_bear_protection_of_jumps() {
    let protected = "echo 'int f(void) { return 0; }' > c.c; gcc -fcf-protection=full -c c.c; \
                     ld -shared c.o k.o -o p.so -z now; readelf -n p.so";
    for options in [&["--cpu", "x86-64-v3"][..], &["--cpu", "auto"]] {
        let folder = folder(options);
        assert!(sh(folder.path(), "readelf -n k.o").contains("IBT, SHSTK"), "{options:?}");
        assert!(sh(folder.path(), protected).contains("IBT, SHSTK"), "{options:?}");
        let code = sh(folder.path(), "objdump -d --no-show-raw-insn k.o");
        let mut entries = 0;
        for (at, _) in code.match_indices("_cpu_kernel_") {
            // Others are called from this object alone.
            let of_callers = |name: &str| !name.contains(['\n', '.', '+']) && !name.ends_with("_shared");
            let Some((_, first)) = code[at..].split_once(">:\n").filter(|(name, _)| of_callers(name)) else { continue };
            let first = first.lines().next().unwrap_or_default();
            assert!(first.ends_with("endbr64"), "{options:?}: {} {first}", &code[at..at + 40]);
            entries += 1;
        }
        assert!(entries >= 6, "{entries}: {code}");
    }
    let folder = folder(&["--cpu", "aarch64"]);
    assert!(sh(folder.path(), "readelf -n k.o").contains("AArch64 feature: BTI"));
}

/// A timer interrupts the program wherever it is, and the way to `main` is walked by unwind tables,
/// as profilers do that record stacks.
const SAMPLED: &str = "#define _GNU_SOURCE
#include \"k.h\"
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

enum { WANTED = 300 };
static volatile sig_atomic_t inside, samples, reached;
int main(void);

static void sample(int number, siginfo_t *about, void *context)
{
    void *frames[64];
    int n, count;
    (void)number, (void)about, (void)context;
    if (!inside) return;
    count = backtrace(frames, 64);
    samples = samples + 1;
    for (n = 0; n < count; ++n)
        if (_Unwind_FindEnclosingFunction(frames[n]) == (void *)main) break;
    reached = reached + (n < count);
}

int main(void)
{
    static float x[4096], adj_x[4096], total[1], adj_total[1] = {1};
    const int64_t threads[] = {4096};
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action;
    kc_launch_bounds launch;
    chain_args chain = {{0}};
    chain_backward_args back = {{0}};
    void *first[1];
    int round;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    backtrace(first, 1); /* loads what it needs */
    chain.x = chain_x(x, 4096);
    chain.x.grad = adj_x;
    chain.total = chain_total(total, 1);
    chain.total.grad = adj_total;
    back.x = chain.x;
    back.total = chain.total;
    if (!kc_launch_of(&launch, 1, threads) || sigaction(SIGPROF, &action, NULL) != 0) return 1;
    setitimer(ITIMER_PROF, &often, NULL);
    for (round = 0; samples < WANTED && round < 1000000; ++round) {
        inside = 1;
        chain_cpu_kernel_forward(&launch, &chain, 0, launch.size, NULL);
        chain_cpu_kernel_backward(&launch, &back, 0, launch.size, NULL);
        inside = 0;
    }
    setitimer(ITIMER_PROF, &never, NULL);
    printf(\"%d of %d\\n\", (int)reached, (int)samples);
    return samples < WANTED;
}
";

#[test]
fn samples_anywhere_in_kernels_lead_to_main() {
    for options in [&[][..], &["--opt", "lean"], &["--cpu", "auto"], &["--checked"]] {
        let folder = folder(options);
        std::fs::write(folder.path().join("c.c"), SAMPLED).expect("a file");
        let said = sh(folder.path(), "gcc -O2 -fomit-frame-pointer -Wall -Werror c.c k.o -lm -o p; ./p");
        let (reached, samples) = said.trim().split_once(" of ").expect("two numbers");
        assert_eq!(reached, samples, "{options:?}");
        assert!(samples.parse::<u32>().is_ok_and(|n| n >= 300), "{options:?}: {said}");
    }
}
