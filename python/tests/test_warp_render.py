"""`kc.warp.render` writes USD's text, which USD reads where it is installed."""

import numpy as np
import pytest

import kc.warp as wp
import kc.warp.render


def scene(path):
    renderer = wp.render.UsdRenderer(str(path), up_axis="Z", fps=10, scaling=2.0)
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    renderer.register_body("a body")
    for frame in range(3):
        renderer.begin_frame(frame / 10)
        renderer.render_ground(size=10.0)
        renderer.render_mesh("cloth", points + frame, [0, 1, 2], colors=(0.1, 0.2, 0.3))
        renderer.render_points("points", wp.array(points * frame, dtype=wp.vec3), radius=0.5, colors=points)
        renderer.render_sphere("group/ball", (frame, 0, 0), (0, 0, 0, 1), 0.25, color=(1, 0, 0))
        renderer.render_box("box", (0, 0, 1), wp.quat_identity(), (1, 2, 3), parent_body="a body", visible=frame > 0)
        renderer.render_capsule("pill", (0, 0, 0), (0, 0, 0, 1), 0.1, 0.4, up_axis=2)
        renderer.render_line_strip("track", points, color=(0, 1, 0))
        renderer.render_line_list("pairs", points, [0, 1, 1, 2])
        renderer.update_body_transforms(np.array([[frame, 0, 0, 0, 0, 0, 1]]))
        renderer.end_frame()
    assert renderer.save()
    return path


def test_text(tmp_path):
    text = scene(tmp_path / "scene.usda").read_text()
    assert text.startswith("#usda 1.0\n") and "endTimeCode = 2\n" in text and 'upAxis = "Z"' in text
    assert text.count("{") == text.count("}") and "2: [(2, 2, 2), (3, 2, 2), (2, 3, 2)]," in text
    # What does not change has one entry.
    assert text.count("faceVertexIndices.timeSamples") == 2 and text.count("[0, 1, 2]") == 1


def test_usd_reads_it(tmp_path):
    """Where USD is installed (`pip install usd-core`)."""
    pxr = pytest.importorskip("pxr.Usd")
    geom = pytest.importorskip("pxr.UsdGeom")
    stage = pxr.Stage.Open(str(scene(tmp_path / "scene.usd")))
    assert stage.GetEndTimeCode() == 2 and str(stage.GetDefaultPrim().GetPath()) == "/root"
    mesh = geom.Mesh.Get(stage, "/root/cloth")
    np.testing.assert_array_equal(mesh.GetPointsAttr().Get(2)[0], [2, 2, 2])
    assert list(mesh.GetFaceVertexCountsAttr().Get(0)) == [3]
    ball = geom.Sphere.Get(stage, "/root/group/ball")
    assert ball.GetRadiusAttr().Get(0) == 0.25
    assert ball.ComputeLocalToWorldTransform(2).ExtractTranslation() == (4, 0, 0)
    points = geom.Points.Get(stage, "/root/points")
    assert list(points.GetWidthsAttr().Get(0)) == [1, 1, 1] and len(points.GetDisplayColorAttr().Get(1)) == 3
    assert geom.Imageable.Get(stage, "/root/a_body/box").ComputeVisibility(0) == "invisible"


def test_what_is_not_there(tmp_path):
    with pytest.raises(NotImplementedError, match="no window"):
        wp.render.OpenGLRenderer()
    renderer = wp.render.UsdRenderer(str(tmp_path / "a.usd"))
    with pytest.raises(AttributeError, match="has no `render_arrow`"):
        renderer.render_arrow
    with pytest.raises(ValueError, match="writes text"):
        wp.render.UsdRenderer(str(tmp_path / "a.usdc"))
    with pytest.raises(TypeError, match="its name"):
        wp.render.UsdRenderer(None)
    with pytest.raises(ValueError, match="2 radii for 1 points"):
        renderer.render_points("p", [(0, 0, 0)], radius=[1, 2])
