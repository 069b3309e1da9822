use super::*;
use crate::engines::registry::{kind_of, locate};

fn unit() -> Transform {
    Transform::scale([1.0; 3], [0.0; 3]).unwrap()
}

/// The entry of a voxel as kernels find it: through the root's tiles and two tables. None outside.
fn find(bytes: &[u8], ty: GridType, at: [i32; 3]) -> Option<(usize, usize)> {
    use super::bytes::{coord_at, i64_at, u32_at, u64_at};
    use super::types::{grid, root, tree};
    let layout = ty.layout();
    let root_at = grid::SIZE + u64_at(bytes, grid::SIZE + tree::ROOT_OFFSET) as usize;
    let key = at.iter().fold(0, |key, &x| key << 21 | u64::from(x as u32 >> 12));
    let tiles = (0..u32_at(bytes, root_at + root::TILE_COUNT) as usize)
        .map(|tile| root_at + layout.root_bytes + tile * layout.tile_bytes);
    let tile = tiles.into_iter().find(|&tile| u64_at(bytes, tile) == key)?;
    let mut node = (root_at as i64 + i64_at(bytes, tile + root::TILE_CHILD)) as usize;
    for of in [layout.upper, layout.lower] {
        let entry = at.iter().fold(0, |entry, &x| entry << of.log | (x >> of.child_log) as usize & ((1 << of.log) - 1));
        if bytes[node + of.child_mask + entry / 8] >> (entry % 8) & 1 == 0 {
            return None;
        }
        node = (node as i64 + i64_at(bytes, node + of.table + entry * layout.entry_bytes)) as usize;
    }
    assert_eq!(coord_at(bytes, node).map(|x| x & !7), at.map(|x| x & !7));
    Some((node, at.iter().fold(0, |entry, &x| entry << 3 | x as usize & 7)))
}

fn value_f32(volume: &Volume, at: [i32; 3]) -> Option<f32> {
    let (node, entry) = find(volume.bytes(), volume.grid_type, at)?;
    let offset = node + volume.grid_type.layout().leaf_values + 4 * entry;
    Some(f32::from_bits(super::bytes::u32_at(volume.bytes(), offset)))
}

/// Counts active voxels before one, in its leaf.
fn number(volume: &Volume, at: [i32; 3]) -> Option<u64> {
    use super::bytes::u64_at;
    let (node, entry) = find(volume.bytes(), volume.grid_type, at)?;
    let word = |k: usize| u64_at(volume.bytes(), node + 16 + 8 * k);
    if word(entry / 64) >> (entry % 64) & 1 == 0 {
        return None;
    }
    let values = node + volume.grid_type.layout().leaf_values;
    let sums = u64_at(volume.bytes(), values + 8);
    let before = if entry < 64 { 0 } else { sums >> (9 * (entry / 64 - 1)) & 511 };
    let within = (word(entry / 64) & ((1 << (entry % 64)) - 1)).count_ones();
    Some(u64_at(volume.bytes(), values) + before + u64::from(within) - 1)
}

#[test]
fn dense_values_are_found_and_filled_up() {
    let shape = [9, 10, 19];
    let values: Vec<f32> = (0..9 * 10 * 19).map(|k| k as f32).collect();
    let volume = Volume::from_dense(Dense::F32(&values, -1.0), shape, unit()).unwrap();
    for [x, y, z] in box_of([16, 16, 24]) {
        let inside = x < 9 && y < 10 && z < 19;
        let expected = if inside { values[(x * 10 + y) * 19 + z] } else { -1.0 };
        assert_eq!(value_f32(&volume, [x, y, z].map(|x| x as i32)), Some(expected));
    }
    assert_eq!(value_f32(&volume, [16, 0, 0]), None);
    let info = volume.info();
    assert_eq!((info.leaves, info.lowers, info.uppers, info.voxels), (12, 1, 1, 12 * 512));
    assert_eq!(info.index_box, [[0; 3], [15, 15, 23]]);
}

#[test]
fn other_values_leave_nothing_behind() {
    let shape = [3, 9, 4];
    let values: Vec<f32> = (0..3 * 9 * 4).map(|k| k as f32).collect();
    let others: Vec<f32> = values.iter().map(|x| 7.0 - x).collect();
    let mut volume = Volume::from_dense(Dense::F32(&values, -1.0), shape, unit()).unwrap();
    // As kernels do, beside the box too.
    for at in [[0, 0, 0], [2, 8, 3], [7, 15, 7], [3, 0, 0]] {
        let (node, entry) = find(volume.bytes(), volume.grid_type, at).unwrap();
        let offset = node + volume.grid_type.layout().leaf_values + 4 * entry;
        volume.bytes_mut()[offset..offset + 4].copy_from_slice(&99f32.to_le_bytes());
    }
    let id = volume.id();
    volume.fill(Dense::F32(&others, -1.0), shape);
    assert_eq!(volume.id(), id);
    assert_eq!(volume.bytes(), Volume::from_dense(Dense::F32(&others, -1.0), shape, unit()).unwrap().bytes());
}

#[test]
fn active_voxels_are_numbered_in_their_order() {
    let voxels = [[0, 0, 0], [7, 7, 7], [-1, 3, 9], [5000, -5000, 1], [7, 7, 7], [0, 0, 1]];
    let volume = Volume::from_voxels(&voxels, unit(), None).unwrap();
    let found = volume.voxels();
    assert_eq!(found.len(), 5);
    for (k, &voxel) in found.iter().enumerate() {
        assert_eq!(number(&volume, voxel), Some(k as u64));
        assert!(voxels.contains(&voxel));
    }
    assert_eq!(number(&volume, [0, 0, 2]), None);
    assert_eq!(volume.info().index_box, [[-1, -5000, 0], [5000, 7, 9]]);
}

#[test]
fn all_types_are_built_and_pass_their_check() {
    let backgrounds = [
        Value::F32(1.0),
        Value::F64(2.0),
        Value::I32(-3),
        Value::I64(4),
        Value::U32(5),
        Value::Vec3F32([1.0; 3]),
        Value::Vec3F64([1.0; 3]),
        Value::Vec4F32([1.0; 4]),
        Value::Vec4F64([1.0; 4]),
        Value::Index,
        Value::OnIndex,
    ];
    let tiles = [[0; 3], [100, -100, 7], [-4097, 0, 0]];
    for background in backgrounds {
        let volume = Volume::from_tiles(&tiles, unit(), background, None).unwrap();
        assert_eq!(check::check(volume.bytes()), Ok(background.grid_type()));
        assert_eq!(volume.tiles(), [[-4104, 0, 0], [96, -104, 0], [0; 3]]);
        assert_eq!(kind_of(volume.id()), Some(Kind::Volume));
        assert_eq!(locate(volume.id() + 700).map(|place| place.offset), Some(700));
        let again = Volume::open(volume.bytes()).unwrap();
        assert_eq!((again.len(), again[0].bytes()), (1, volume.bytes()));
    }
}

#[test]
fn volumes_are_built_anew_within_their_room() {
    let room = Capacity { uppers: 2, lowers: 2, leaves: 3, voxels: 4 };
    let mut volume = Volume::from_voxels(&[[0; 3]], unit(), Some(room)).unwrap();
    let (id, first) = (volume.id(), volume.bytes().to_vec());
    volume.rebuild(&[[9, 0, 0], [-9, 0, 0]]).unwrap();
    assert_eq!((volume.id(), volume.voxels()), (id, vec![[-9, 0, 0], [9, 0, 0]]));
    let error = volume.rebuild(&[[0; 3], [8, 0, 0], [16, 0, 0], [24, 0, 0]]).unwrap_err();
    assert_eq!(error.to_string(), "the volume needs 4 leaves, and it was made for 3");
    assert_eq!(volume.voxels().len(), 2);
    volume.rebuild(&[[0; 3]]).unwrap();
    assert_eq!(volume.bytes(), first);
    let mut fixed = Volume::from_voxels(&[[0; 3]], unit(), None).unwrap();
    assert_eq!(fixed.rebuild(&[[0; 3]]).unwrap_err(), VolumeError::Fixed.into());
}

#[test]
fn files_are_read_as_they_were_written() {
    let one = Volume::from_dense(Dense::I32(&[1, 2, 3, 4, 5, 6], 0), [1, 2, 3], unit()).unwrap();
    let two = Volume::from_voxels(&[[1, 2, 3]], unit(), None).unwrap();
    for codec in [Codec::None, Codec::Zip] {
        let file = Volume::file_bytes(&[&one, &two], codec).unwrap();
        let read = Volume::from_file_bytes(&file).unwrap();
        assert_eq!(read.iter().map(|volume| volume.info().index).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(read[1].voxels(), [[1, 2, 3]]);
        assert_eq!(read[0].bytes()[grid_data()..], one.bytes()[grid_data()..]);
        for cut in [0, 15, 16, 100, 200, 400, file.len() / 2, file.len() - 1] {
            let error = Volume::from_file_bytes(&file[..cut]).unwrap_err();
            assert!(matches!(error, EngineError::Volume(VolumeError::Cut { .. })), "{error}");
        }
    }
}

/// Behind what says which of how many grids it is.
fn grid_data() -> usize {
    types::grid::BYTES
}

/// Appends a feature array of 3 f32 to a grid.
fn with_feature(volume: &Volume) -> Vec<u8> {
    use super::types::{blind, grid};
    let mut bytes = volume.bytes().to_vec();
    let entry = bytes.len();
    bytes.resize(entry + blind::SIZE + 32, 0);
    let size = bytes.len() as u64;
    for (offset, value) in [
        (entry + blind::OFFSET, blind::SIZE as u64),
        (entry + blind::COUNT, 3),
        (grid::BYTES, size),
        (grid::BLIND_OFFSET, entry as u64),
    ] {
        bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
    }
    for (offset, value) in [(entry + blind::VALUE_BYTES, 4u32), (entry + blind::TYPE, 1), (grid::BLIND_COUNT, 1)] {
        bytes[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
    }
    bytes[entry + blind::NAME..][..7].copy_from_slice(b"density");
    bytes
}

#[test]
fn feature_arrays_are_described() {
    let volume = Volume::from_voxels(&[[1, 2, 3]], unit(), None).unwrap();
    let mut bytes = with_feature(&volume);
    let entry = volume.bytes().len();
    let features = Volume::open(&bytes).unwrap()[0].info().features;
    let expected =
        read::Feature { name: "density".into(), type_number: 1, offset: entry + 288, count: 3, value_bytes: 4 };
    assert_eq!(features, [expected]);
    bytes[entry + types::blind::COUNT] = 9;
    let error = Volume::open(&bytes).unwrap_err().to_string();
    assert_eq!(error, "the volume says that its offset of a feature array is 288, which can't be");
}

#[test]
fn external_memory_is_used_in_place() {
    let volume = Volume::from_voxels(&[[1, 2, 3]], unit(), None).unwrap();
    let words: Vec<u64> = volume.bytes().chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let (id, count) = (words.as_ptr() as u64, words.len());
    let array = |count: usize| crate::abi::ArrayDescriptor {
        data: id,
        grad: 0,
        shape: [count as i32, 0, 0, 0],
        strides: [8, 0, 0, 0],
        ndim: 1,
        flags: 0,
    };
    // SAFETY: `words` lives until the end of the test.
    let source = |count| unsafe { Source::external(&array(count), "words") }.unwrap();
    let mut same = Volume::external(source(count)).unwrap();
    assert_eq!((same.id(), same.voxels()), (id, vec![[1, 2, 3]]));
    assert_eq!(same.rebuild(&[[0; 3]]).unwrap_err(), VolumeError::Fixed.into());
    assert!(matches!(Volume::external(source(count - 1)), Err(EngineError::Volume(VolumeError::Cut { .. }))));
}

#[test]
fn wrong_files_are_refused() {
    let volume = Volume::from_voxels(&[[1, 2, 3]], unit(), None).unwrap();
    let file = Volume::file_bytes(&[&volume], Codec::Zip).unwrap();
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut file = file.clone();
        change(&mut file);
        Volume::from_file_bytes(&file).unwrap_err().to_string()
    };
    assert_eq!(
        error(&|file| file[14] = 2),
        "the file is compressed by blosc, which is not supported; \"none\" and \"zip\" are"
    );
    assert_eq!(error(&|file| file[14] = 7), "the file is compressed by codec 7, which is not known");
    assert!(error(&|file| file[0] = b'X').starts_with("the bytes are no NanoVDB grid"));
    assert_eq!(error(&|file| file[11] = 0), "the volume is of NanoVDB version 0, and 32 is supported");
    assert_eq!(error(&|file| *file.last_mut().unwrap() ^= 1), "the compressed data of grid 0 are damaged");
    assert!(error(&|file| file[16] ^= 1).contains("damaged"));
    assert_eq!(
        Volume::file_bytes(&[], Codec::None).unwrap_err().to_string(),
        "a file holds 1 to 65535 volumes, and 0 are to be written"
    );
}

#[test]
fn damaged_grids_are_refused_or_harmless() {
    let volume = Volume::from_tiles(&[[0; 3], [500, 0, 0]], unit(), Value::F32(1.0), None).unwrap();
    let words = (0..800).step_by(4).chain((volume.bytes().len() - 2144 - 33856..volume.bytes().len()).step_by(52));
    let mut refused = 0;
    for at in words {
        for value in [0u32, 1, 0x7fff_ffff, 0xffff_ffff, 26] {
            let mut bytes = volume.bytes().to_vec();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            match Volume::open(&bytes) {
                Ok(volumes) => drop(
                    volumes
                        .iter()
                        .map(|volume| (volume.info(), volume.tiles().len(), volume.voxels().len()))
                        .collect::<Vec<_>>(),
                ),
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 60, "{refused}");
    for end in [0, 1, 671, 735, 736, 10_000] {
        assert!(Volume::open(&volume.bytes()[..end]).is_err());
    }
}

#[test]
fn types_that_kernels_cannot_read_are_refused() {
    let volume = Volume::from_tiles(&[[0; 3]], unit(), Value::F32(1.0), None).unwrap();
    let mut bytes = volume.bytes().to_vec();
    bytes[types::grid::TYPE] = 9;
    assert_eq!(Volume::open(&bytes).unwrap_err().to_string(), "volumes of NanoVDB grid type 9 are not supported");
}

#[test]
fn wrong_input_is_refused() {
    let error = |made: Result<Volume, EngineError>| made.unwrap_err().to_string();
    assert_eq!(
        error(Volume::from_tiles(&[], unit(), Value::F32(0.0), None)),
        "a volume can't be made of 0 coordinates"
    );
    assert_eq!(
        error(Volume::from_dense(Dense::F32(&[], 0.0), [0, 1, 1], unit())),
        "a volume can't be made of 0 values"
    );
    let short = Volume::from_dense(Dense::F32(&[1.0], 0.0), [2, 1, 1], unit());
    assert_eq!(error(short), "a volume of 2 x 1 x 1 voxels can't be made of 1 values");
    let singular = Transform::new([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3]);
    assert_eq!(singular.unwrap_err(), VolumeError::Singular);
    assert!(matches!(Transform::scale([1.0, 0.0, 1.0], [0.0; 3]), Err(VolumeError::VoxelSize { .. })));
    assert!(matches!(Transform::new([[f32::NAN; 3]; 3], [0.0; 3]), Err(VolumeError::NotFinite { .. })));
    let beyond = unit().to_voxels(&[[0.0; 3], [3e9, 0.0, 0.0]]).unwrap_err().to_string();
    assert_eq!(beyond, "point 1 is at (3000000000, 0, 0), where no voxel can be");
    assert!(unit().to_voxel([f32::NAN; 3]).is_none());
}

#[test]
fn room_for_too_much_is_refused() {
    for leaves in [1 << 31, 1 << 45, usize::MAX] {
        let room = Capacity { uppers: 1 << 31, lowers: 1 << 31, leaves, voxels: 1 << 60 };
        let error = Volume::from_tiles(&[[0; 3]], unit(), Value::F64(0.0), Some(room)).unwrap_err().to_string();
        assert!(error.starts_with("there is no memory for a volume of "), "{error}");
    }
}

#[test]
fn transforms_go_there_and_back() {
    let transform = Transform::new([[1.0, 0.5, 0.0], [0.0, 1.0, 0.25], [0.1, 0.0, 2.0]], [0.3, 0.2, -7.0]).unwrap();
    for at in [[0, 0, 0], [5, -3, 100], [-1000, 7, 2]] {
        let world = transform.to_world(at.map(f64::from)).map(|x| x as f32);
        assert_eq!(transform.to_voxel(world), Some(at));
    }
    let mut header = vec![0; types::grid::SIZE];
    transform.write(&mut header);
    assert_eq!(Transform::read(&header), transform);
}
