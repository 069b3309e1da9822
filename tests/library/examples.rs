//! Do the examples in the docs compile, and do their checks hold?

use std::path::Path;
use std::sync::LazyLock;

use kc::codegen::llvm::{Atomics, Cpu, HostModule, HostOptions, Opt};
use kc::diag::Code;
use kc::driver::{Compiler, Gradients, Request};
use kc::engines::hash_grid::{Points, Real};
use kc::engines::mesh::MeshInput;
use kc::engines::texture::form::{Filter, Form, Numbers};
use kc::engines::volume::Volume;
use kc::engines::volume::transform::Transform;
use kc::engines::volume::value::Dense;
use kc::engines::{Bvh, Engine, HashGrid, Mesh, Source, Texture};
use kc::ir::FuncId;
use kc::library::Library;
use kc::source::SourceMap;
use kc::types::{Scalar, Type};
use libtest_mimic::Failed;

use crate::memory::{self, Memory};

/// What examples call `mesh`, `tree` and `grid`: a cube from 0 to 1, whose normals point outwards
/// and which moves by 2 along z; eight boxes in a row along x, each half as long as wide; and eight
/// points along x, one in a cell; `volume` has 8 x 8 x 8 numbers i + 10 j + 100 k, -1 around, and
/// voxels of half a unit; `voxels` numbers (0, 0, 0), (0, 0, 1) and (5, 5, 5).
///
/// Textures are made in the kernel: `ramp` has the texels 0, 10, 20 and 30; `image` 3 x 2 texels
/// x + 10 y, by coordinates in texels; `stack` 2 x 2 x 2 texels x + 2 y + 4 z, and a second level
/// of detail.
fn engines() -> &'static (String, String) {
    static IDS: LazyLock<(String, String)> = LazyLock::new(|| {
        let corners = (0..8).map(|k| [k & 1, k >> 1 & 1, k >> 2].map(|bit| bit as f32)).collect();
        let faces = [
            [0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4],
            [2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5],
        ];
        let points = Source::owned(corners, "points").expect("eight points");
        let indices = Source::owned(faces.concat(), "indices").expect("twelve faces");
        let velocities = Some(Source::owned(vec![[0.0, 0.0, 2.0]; 8], "velocities").expect("eight velocities"));
        let input = MeshInput { velocities, support_winding_number: true, ..MeshInput::new(points, indices) };
        let mesh = Mesh::new(input).expect("a cube");
        let lowers: Vec<[f32; 3]> = (0..8).map(|k| [k as f32, 0.0, 0.0]).collect();
        let uppers = lowers.iter().map(|&[x, _, _]| [x + 0.5, 1.0, 1.0]).collect();
        let tree = Bvh::owned(lowers, uppers).expect("eight boxes");
        let points: Vec<[f32; 3]> = (0..8).map(|k| [k as f32 + 0.5, 0.5, 0.5]).collect();
        let mut grid = HashGrid::new([8, 1, 1], Real::F32).expect("a grid");
        grid.build(Points::F32(&points), 1.0, None).expect("eight points");
        let numbers: Vec<f32> =
            (0..512).map(|n| (n >> 6) as f32 + 10.0 * (n >> 3 & 7) as f32 + 100.0 * (n & 7) as f32).collect();
        let half = Transform::scale([0.5; 3], [0.0; 3]).expect("a map");
        let volume = Volume::from_dense(Dense::F32(&numbers, -1.0), [8, 8, 8], half).expect("a volume");
        let voxels = [[0, 0, 0], [0, 0, 1], [5, 5, 5]];
        let voxels = Volume::from_voxels(&voxels, half, None).expect("three voxels");
        let texels = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
        let texture = |form: Form, numbers: &[f32]| Texture::new(form, &texels(numbers)).expect("a texture");
        let ramp = texture(Form::new(&[4], 1, Numbers::F32), &[0.0, 10.0, 20.0, 30.0]);
        let image = Form { normalized: false, filter: Filter::Linear, ..Form::new(&[3, 2], 1, Numbers::F32) };
        let image = texture(image, &[0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        let stack = Form { levels: 2, ..Form::new(&[2, 2, 2], 1, Numbers::F32) };
        let stack = texture(stack, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        let made = [("ramp", &ramp), ("image", &image), ("stack", &stack)].map(|(name, texture)| {
            let form = texture.form();
            let extents = &form.extents[..form.dims];
            let extents: String = extents.iter().map(|extent| format!("{extent}, ")).collect();
            let (class, id, metadata) = (form.class(), texture.id(), form.metadata());
            format!("    {name} = wp.{class}(wp.uint64({id}), {extents}wp.uint32({metadata}))\n")
        });
        let ids = [
            ("mesh", mesh.id()),
            ("tree", tree.id()),
            ("grid", grid.id()),
            ("volume", volume.id()),
            ("voxels", voxels.id()),
        ];
        // They live as long as the tests.
        std::mem::forget((mesh, tree, grid, volume, voxels, ramp, image, stack));
        (ids.map(|(name, id)| format!("{name} = wp.uint64({id})\n")).concat(), made.concat())
    });
    &IDS
}

/// An example is the body of a kernel, which has the array `data` of eight float32.
pub fn check(name: &str) -> Result<(), Failed> {
    let (library, mut sources) = (Library::default(), SourceMap::default());
    let mut count = 0;
    let mut missing = false;
    for entry in library.entries(name, &mut sources).iter() {
        let examples = kc::library::reference::examples(entry.function.doc.as_deref().unwrap_or_default());
        missing |= (entry.intrinsic || crate::reads_engines(entry)) && examples.is_empty();
        for example in examples {
            count += 1;
            run(&example)?;
        }
    }
    // Nothing else tests what the compiler itself knows.
    if missing && count == 0 { Err(format!("`{name}` has no example").into()) } else { Ok(()) }
}

fn run(example: &str) -> Result<(), Failed> {
    let (ids, textures) = engines();
    let head = "@wp.kernel\ndef example(data: wp.array(dtype=float)):\n";
    let mut text = format!("import warp as wp\n\n{ids}\n\n{head}{textures}");
    for line in example.lines() {
        text += &format!("    {line}\n");
    }
    let request = Request { gradients: Gradients { backward: false, ..Gradients::default() }, ..Request::default() };
    let compilation = Compiler::new().load_text(Path::new("example.py"), text.clone(), &request);
    if compilation.diagnostics.has_errors() {
        let messages: Vec<&str> = compilation.diagnostics.iter().map(|d| d.message.as_str()).collect();
        return Err(format!("{}\n{text}", messages.join("\n")).into());
    }
    let module = &compilation.module;
    let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
    let options = HostOptions { checked: true, opt: Opt::Full, cpu: Cpu::Native, atomics: Atomics::Shared };
    let host = HostModule::compile(module, &kernels, &options);
    if kernels.iter().any(|&kernel| module.grid_sync_below(kernel).is_some()) {
        // `tests/grid_sync.rs` runs it where there are several threads.
        let refused = host.err().map(|error| error.code);
        return if refused == Some(Code::E0824) { Ok(()) } else { Err(format!("{refused:?}").into()) };
    }
    let host = host.map_err(|error| error.to_string())?;
    for kernel in kernels {
        let mut data = [Memory::zeroed(Type::Scalar(Scalar::F32), 8)];
        memory::interpret(module, kernel, 1, &mut data).map_err(|error| format!("{error}\n{text}"))?;
        let entry = host.entry(kernel).ok_or("no entry")?;
        memory::run(entry, 1, &mut [Memory::zeroed(Type::Scalar(Scalar::F32), 8)])?;
    }
    Ok(())
}
