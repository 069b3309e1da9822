use super::form::{Address, Filter, Numbers};
use super::*;
use crate::engines::device::relocated;
use crate::engines::registry::{State, gradients_of, locate, state_of};

fn ramp(extents: &[i64], numbers: Numbers) -> (Form, Vec<u8>) {
    let form = Form::new(extents, 1, numbers);
    let count: i64 = extents.iter().product();
    let bytes = match numbers {
        Numbers::U8 => (0..count).map(|n| n as u8).collect(),
        _ => (0..count).flat_map(|n| (n as f32).to_ne_bytes()).collect(),
    };
    (form, bytes)
}

fn refused(form: Form) -> String {
    Texture::new(form, &[]).unwrap_err().to_string()
}

#[test]
fn descriptors_say_what_the_form_says() {
    let (form, bytes) = ramp(&[4, 3], Numbers::U8);
    let form = Form { address: [Address::Wrap, Address::Border, Address::Clamp], levels: 0, ..form };
    let texture = Texture::new(form, &bytes).unwrap();
    let header = &texture.header;
    assert_eq!((header.width, header.height, header.depth, header.channels), (4, 3, 0, 1));
    assert_eq!((header.num_levels, header.address, header.normalized), (3, [0, 3, 1], 1));
    assert_eq!((header.widths[..3].to_vec(), header.heights[..3].to_vec()), (vec![4, 2, 1], vec![3, 1, 1]));
    assert_eq!(header.offsets[..3], [0, 12, 14]);
    assert_eq!(header.levels[2], header.data + 14);
    assert_eq!(texture.form().metadata() & 0xfffff, 1 | 1 << 6 | 1 << 7 | 3 << 8 | 1 << 13 | 3 << 16 | 1 << 18);
    let argument = texture.form().argument(texture.id());
    assert_eq!((argument.len(), &argument[..8]), (24, &texture.id().to_le_bytes()[..]));
}

#[test]
fn lower_levels_are_means_of_neighbours() {
    let (form, bytes) = ramp(&[5, 2], Numbers::U8);
    let texture = Texture::new(Form { levels: 2, ..form }, &bytes).unwrap();
    // (0 + 1 + 5 + 6) / 4 = 3, (2 + 3 + 7 + 8) / 4 = 5.
    assert_eq!(texture.all_levels()[10..12], [3, 5]);
    // Halves go to the even number.
    let texture = Texture::new(Form { levels: 2, ..Form::new(&[4], 1, Numbers::U8) }, &[0, 1, 1, 2]).unwrap();
    assert_eq!(texture.all_levels()[4..6], [0, 2]);
    let channels = Form { levels: 2, ..Form::new(&[2, 1, 2], 2, Numbers::U8) };
    let texture = Texture::new(channels, &[0, 10, 4, 20, 8, 30, 12, 40]).unwrap();
    assert_eq!(texture.all_levels()[8..10], [6, 25]);
}

#[test]
fn forms_that_cannot_be_are_refused() {
    let form = Form::new(&[4, 4], 1, Numbers::F32);
    assert_eq!(refused(Form { extents: [4, 0, 1], ..form }), "its height is 0, and must be from 1 to 2147483647");
    assert_eq!(
        refused(Form { extents: [1 << 40, 1, 1], ..form }),
        "its width is 1099511627776, and must be from 1 to 2147483647"
    );
    assert_eq!(refused(Form { channels: 3, ..form }), "it has 3 channels, and 1, 2 or 4 are supported");
    assert_eq!(refused(Form { levels: 4, ..form }), "it is to have 4 levels of detail, and 0 (all) to 3 are possible");
    assert_eq!(
        refused(Form { levels: -1, ..form }),
        "it is to have -1 levels of detail, and 0 (all) to 3 are possible"
    );
    let most = i64::from(i32::MAX);
    assert!(refused(Form { extents: [most; 3], dims: 3, ..form }).starts_with("there is no memory for"));
    let counts = Form { filter: Filter::Linear, ..Form::new(&[4], 1, Numbers::I32) };
    assert_eq!(refused(counts), "texels of type int32 are not mixed: its filters must be closest");
    assert_eq!(Texture::new(form, &[0; 9]).unwrap_err().to_string(), "its texels have 64 bytes, and 9 are given");
    assert_eq!(
        Filter::of_number(2).unwrap_err().to_string(),
        "there is no filter 2; there are 0 (closest) and 1 (linear)"
    );
    assert!(Address::of_number(-1).is_err() && Address::of_number(3).is_ok());
}

#[test]
fn numbers_are_read_in_place_and_their_gradients_are_named() {
    let (form, _) = ramp(&[4], Numbers::F32);
    let numbers = Source::owned(vec![0.0f32, 1.0, 2.0, 3.0], "texels").unwrap();
    let mut texture = Texture::lent(form, numbers).unwrap();
    let place = texture.header.data;
    assert_eq!(locate(place + 4).map(|place| (place.kind, place.id)), Some((Kind::Texture, texture.id())));
    assert!(gradients_of(texture.id()).is_empty());
    let mut gradients = [0.0f32; 4];
    // SAFETY: they live as long as the texture.
    unsafe { texture.set_gradients(gradients.as_mut_ptr() as u64) };
    assert_eq!(gradients_of(texture.id()).len(), 1);
    assert_eq!(texture.header.grad, gradients.as_ptr() as u64);
    let there = relocated(&texture, |piece| u64::from(piece.slot) + 1);
    assert_eq!((&there[..8], &there[504..]), (&1u64.to_le_bytes()[..], &505u64.to_le_bytes()[..]));
    texture.write(&[0; 16]).unwrap();
    assert_eq!(texture.first_level(), [0; 16]);
}

#[test]
fn textures_are_live_until_they_are_dropped() {
    let (form, bytes) = ramp(&[2, 2, 2], Numbers::F32);
    let mut texture = Texture::new(form, &bytes).unwrap();
    let id = texture.id();
    let before = texture.frozen().unwrap();
    texture.write(&[0; 32]).unwrap();
    assert_eq!((before.first_level(), before.id() == id), (&bytes[..], false));
    drop(texture);
    assert!(matches!(state_of(id), State::Freed { kind: Kind::Texture, .. }));
}
