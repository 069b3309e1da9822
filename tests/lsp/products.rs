//! Hover on a product of tiles says what computes it on the GPU of the settings.

use serde_json::json;

use super::client::{Client, URI, position};

const TEXT: &str = r#"import warp as wp


@wp.func
def squared(t: wp.tile[float, 16, 16]):
    return wp.tile_matmul(t, t, precision="tf32")


@wp.kernel
def gemm(a: wp.array2d(dtype=wp.float16), b: wp.array2d(dtype=wp.float16), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    ü = wp.tile_zeros(shape=(32, 32), dtype=float)
    x = wp.tile_load(a, shape=(32, 16), offset=(i * 32, 0))
    y = wp.tile_load(b, shape=(16, 32), offset=(0, j * 32))
    wp.tile_matmul(x, y, ü)
    wp.tile_matmul(ü, ü, ü, 0.5)
    wp.tile_store(c, ü, offset=(i * 32, j * 32))


@wp.kernel
def squares(c: wp.array2d(dtype=float)):
    t = wp.tile_load(c, shape=(16, 16))
    wp.tile_store(c, squared(t) + wp.tile_matmul(t, t, 2.0))
"#;

fn hover(client: &mut Client, part: &str) -> String {
    let mut at = position(TEXT, part);
    // On the name, behind `wp.`.
    at["character"] = json!(at["character"].as_u64().expect("a column") + 5);
    let asked = json!({"textDocument": {"uri": URI}, "position": at});
    client.ask("textDocument/hover", asked)["contents"]["value"].as_str().unwrap_or_default().to_string()
}

#[test]
fn a_product_says_what_computes_it() {
    let mut client = Client::start(json!({}));
    client.open(TEXT);
    let said = hover(&mut client, "wp.tile_matmul(x");
    for words in [
        "Each element is a chain of fused",
        "- 32 x 32 x 16, float16 by float16: tensor cores of sm_90, as f16, in patches of 16 x 16",
        "- gradient: 32 x 16 x 32, float32 by float16: tensor cores of sm_90, as tf32_pair",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Each call has its own, a reason where it is a chain.
    let said = hover(&mut client, "wp.tile_matmul(ü");
    assert!(
        said.contains("- 32 x 32 x 32, float32 by float32: chains of fma, because float32 would lose bits"),
        "{said}"
    );
    assert!(!said.contains("float16 by"), "{said}");
    // In a function it is that of the kernels which call it.
    let said = hover(&mut client, "wp.tile_matmul(t, t, precision");
    let words = "- 16 x 16 x 16, float32 by float32: tensor cores of sm_90, as tf32, by its `precision`";
    assert!(said.contains(words) && said.contains("(`squares`)"), "{said}");
    assert!(!hover(&mut client, "wp.tile_load(a").contains("tensor cores"));
    client.tell("workspace/didChangeConfiguration", json!({"settings": {"kc": {"arch": "sm_75"}}}));
    let said = hover(&mut client, "wp.tile_matmul(x");
    assert!(said.contains("tensor cores of sm_75, as f16_short") && !said.contains("sm_90"), "{said}");
    // A kernel with an error becomes nothing; the rest of the hover stays.
    client.change(2, json!([{"text": TEXT.replace("offset=(0, j * 32)", "offset=(0, missing)")}]));
    let said = hover(&mut client, "wp.tile_matmul(x");
    assert!(said.contains("Each element is a chain of fused") && !said.contains("tensor cores of"), "{said}");
    client.end();
}
