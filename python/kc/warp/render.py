"""Scenes as USD: ``import kc.warp.render`` has ``UsdRenderer``, which writes a text file that USD's programs and Blender open. It
needs no other library. There is no window: ``OpenGLRenderer`` says so."""

from __future__ import annotations

import os
import re

import numpy as np

_AXES = {0: "X", 1: "Y", 2: "Z"}


def _numbers(value) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") and not isinstance(value, np.ndarray) else value)


def _tuple(row) -> str:
    return "(" + ", ".join(f"{v:.9g}" for v in row) + ")"


def _rows(value, width=3) -> str:
    rows = _numbers(value).astype(np.float64).reshape(-1, width)
    return "[" + ", ".join(map(_tuple, rows.tolist())) + "]"


def _flat(value, form="{:.9g}") -> str:
    return "[" + ", ".join(map(form.format, _numbers(value).ravel().tolist())) + "]"


def _turn(rot) -> str:
    x, y, z, w = (float(v) for v in _numbers(rot))
    return _tuple((w, x, y, z))


class _Prim:
    """A thing of the scene: attributes with one value or one for each time, and what is in it."""

    def __init__(self, name, kind="Xform"):
        self.name, self.kind, self.meta = name, kind, []
        self.attributes, self.children = {}, {}

    def child(self, name, kind="Xform"):
        if name not in self.children:
            self.children[name] = _Prim(name, kind)
        return self.children[name]

    def set(self, declaration, value, time=None, meta=""):
        """Sets an attribute such as ``double radius``; with a time, from then on. A value that did not change is not written
        again."""
        fixed, samples, _ = self.attributes.setdefault(declaration, [None, {}, meta])
        if time is None:
            self.attributes[declaration][0] = value
        elif not samples or samples[max(samples)] != value:
            samples[time] = value

    def place(self, pos, rot, scale, time):
        """Where it is."""
        self.set("double3 xformOp:translate", _tuple(_numbers(pos).astype(float)), time)
        self.set("quatf xformOp:orient", _turn(rot), time)
        self.set("double3 xformOp:scale", _tuple(_numbers(scale).astype(float)), time)
        self.set("uniform token[] xformOpOrder", '["xformOp:translate", "xformOp:orient", "xformOp:scale"]')

    def text(self, indent=""):
        meta = f" (\n{''.join(f'{indent}    {line}{chr(10)}' for line in self.meta)}{indent})" if self.meta else ""
        lines = [f'{indent}def {self.kind} "{self.name}"{meta}' if self.kind else f'{indent}def "{self.name}"{meta}', f"{indent}{{"]
        for declaration, (fixed, samples, more) in self.attributes.items():
            if fixed is not None or more:
                lines.append(f"{indent}    {declaration}{'' if fixed is None else f' = {fixed}'}{more}")
            if samples:
                lines.append(f"{indent}    {declaration}.timeSamples = {{")
                lines += [f"{indent}        {time}: {value}," for time, value in sorted(samples.items())]
                lines.append(f"{indent}    }}")
        lines += [child.text(indent + "    ") for child in self.children.values()]
        return "\n".join([*lines, f"{indent}}}"])


class UsdRenderer:
    """Writes frames of points, meshes and solids to a USD file: ``begin_frame(time)``, ``render_...``, ``end_frame()``, and
    ``save()`` in the end. ``stage`` is the file's name."""

    def __init__(self, stage, up_axis="Y", fps=60, scaling=1.0):
        if not isinstance(stage, (str, os.PathLike)):
            raise TypeError(f"kc.warp.render writes text to a file: `stage` is its name, not a {type(stage).__name__}")
        self.up_axis, self.fps, self.time, self.last = str(up_axis).upper(), float(fps), 0, 0
        if self.up_axis not in _AXES.values():
            raise ValueError(f"up_axis is X, Y or Z, not {up_axis!r}")
        self.path = os.fspath(stage)
        if self.path.endswith((".usdc", ".usdz")):
            raise ValueError(f"{self.path}: kc.warp.render writes text, which is for files .usda and .usd")
        self.root, self._bodies = _Prim("root"), []
        self.root.set("double3 xformOp:scale", _tuple([float(scaling)] * 3))
        self.root.set("uniform token[] xformOpOrder", '["xformOp:scale"]')

    def __getattr__(self, name):
        raise AttributeError(f"kc.warp.render's UsdRenderer has no `{name}`: with Warp installed, `warp.render` has it")

    def begin_frame(self, time):
        """What follows is at this time, in seconds."""
        self.time = round(float(time) * self.fps)
        self.last = max(self.last, self.time)

    def end_frame(self):
        """Does nothing: frames follow each other by their times."""

    def register_body(self, body_name):
        """Makes something that shapes are parts of (``parent_body``)."""
        self._bodies.append(self.root.child(_name(body_name)))

    def update_body_transforms(self, body_q):
        """Puts the bodies where these transforms say, in the order in which they were registered."""
        for prim, row in zip(self._bodies, _numbers(body_q).reshape(-1, 7)):
            prim.place(row[:3], row[3:], (1, 1, 1), self.time)

    def _prim(self, name, kind, parent_body=None, visible=True, color=None):
        at = self.root
        for part in [*([parent_body] if parent_body else []), *str(name).strip("/").split("/")[:-1]]:
            at = at.child(_name(part))
        prim = at.child(_name(str(name).strip("/").split("/")[-1]), kind)
        prim.set("token visibility", '"inherited"' if visible else '"invisible"', self.time)
        if color is not None:
            prim.set("color3f[] primvars:displayColor", _rows(color), self.time)
        return prim

    def _solid(self, name, kind, values, pos, rot, scale, parent_body, color, visible, axis=None):
        prim = self._prim(name, kind, parent_body, visible, color)
        for declaration, value in values.items():
            prim.set(f"double {declaration}", f"{float(value):.9g}", self.time)
        if axis is not None:
            prim.set("uniform token axis", f'"{_AXES[axis]}"')
        prim.place(pos, rot, scale, self.time)
        return f"/root/{prim.name}"

    def render_sphere(self, name, pos, rot, radius, parent_body=None, is_template=False, color=None, visible=True):
        """A ball."""
        return self._solid(name, "Sphere", {"radius": radius}, pos, rot, (1, 1, 1), parent_body, color, visible)

    def render_box(self, name, pos, rot, extents, parent_body=None, is_template=False, color=None, visible=True):
        """A box; ``extents`` are halves of its edges."""
        return self._solid(name, "Cube", {"size": 2}, pos, rot, extents, parent_body, color, visible)

    def render_capsule(self, name, pos, rot, radius, half_height, parent_body=None, is_template=False, up_axis=1, color=None, visible=True):
        """A cylinder with half a ball at each end."""
        values = {"radius": radius, "height": 2 * half_height}
        return self._solid(name, "Capsule", values, pos, rot, (1, 1, 1), parent_body, color, visible, up_axis)

    def render_cylinder(self, name, pos, rot, radius, half_height, parent_body=None, is_template=False, up_axis=1, color=None, visible=True):
        """A cylinder."""
        values = {"radius": radius, "height": 2 * half_height}
        return self._solid(name, "Cylinder", values, pos, rot, (1, 1, 1), parent_body, color, visible, up_axis)

    def render_cone(self, name, pos, rot, radius, half_height, parent_body=None, is_template=False, up_axis=1, color=None, visible=True):
        """A cone."""
        values = {"radius": radius, "height": 2 * half_height}
        return self._solid(name, "Cone", values, pos, rot, (1, 1, 1), parent_body, color, visible, up_axis)

    def render_plane(self, name, pos, rot, width, length, color=(1.0, 1.0, 1.0), color2=None, parent_body=None, is_template=False,
                     u_scaling=1.0, v_scaling=1.0, visible=True):
        """A rectangle that y points away from; an extent of 0 is 100."""
        w, d = (float(v) or 100.0 for v in (width, length))
        corners = [(-w, 0, -d), (w, 0, -d), (w, 0, d), (-w, 0, d)]
        prim = self._mesh(self._prim(name, "Mesh", parent_body, visible, color), corners, [0, 1, 2, 0, 2, 3], True)
        prim.place(pos, rot, (1, 1, 1), self.time)
        return f"/root/{prim.name}"

    def render_ground(self, size=100.0, plane=None):
        """The ground, at right angles to the stage's axis."""
        if plane is not None:
            raise NotImplementedError("kc.warp.render has the ground at height 0: `render_plane` has others")
        half = 2.0**-0.5
        turn = {"X": (0.0, 0.0, -half, half), "Y": (0.0, 0.0, 0.0, 1.0), "Z": (half, 0.0, 0.0, half)}[self.up_axis]
        self.render_plane("ground", (0, 0, 0), turn, size, size, (0.3, 0.3, 0.3))

    def render_ref(self, name, path, pos, rot, scale, color=None):
        """What another USD file holds."""
        prim = self._prim(name, "", color=color)
        if not prim.meta:
            prim.meta.append(f"prepend references = @{path}@")
        prim.place(pos, rot, scale, self.time)
        return f"/root/{prim.name}"

    def _mesh(self, prim, points, indices, topology):
        prim.set("point3f[] points", _rows(points), self.time)
        if topology or "int[] faceVertexIndices" not in prim.attributes:
            flat = _numbers(indices).ravel()
            prim.set("int[] faceVertexIndices", _flat(flat, "{}"), self.time)
            prim.set("int[] faceVertexCounts", _flat([3] * (flat.size // 3), "{}"), self.time)
        return prim

    def render_mesh(self, name, points, indices, colors=None, pos=(0.0, 0.0, 0.0), rot=(0.0, 0.0, 0.0, 1.0), scale=(1.0, 1.0, 1.0),
                    update_topology=False, parent_body=None, is_template=False, smooth_shading=True, visible=True):
        """Triangles: three indices of points each. ``colors`` is one, or one for each point."""
        prim = self._prim(name, "Mesh", parent_body, visible)
        self._mesh(prim, points, indices, update_topology)
        self._colors(prim, colors, len(_numbers(points).reshape(-1, 3)))
        prim.set("uniform token subdivisionScheme", '"catmullClark"' if smooth_shading else '"none"')
        prim.place(pos, rot, scale, self.time)
        return f"/root/{prim.name}"

    def _colors(self, prim, colors, count):
        if colors is None:
            return
        rows = _numbers(colors).reshape(-1, 3)
        if len(rows) not in (1, count):
            raise ValueError(f"{len(rows)} colors for {count} points: one, or one for each")
        many = "constant" if len(rows) == 1 else "vertex"
        prim.set("color3f[] primvars:displayColor", _rows(rows), self.time, f' (\n            interpolation = "{many}"\n        )')

    def render_points(self, name, points, radius, colors=None, as_spheres=True, visible=True):
        """Points of one radius, or of a radius each."""
        prim = self._prim(name, "Points", visible=visible)
        rows = _numbers(points).reshape(-1, 3)
        widths = 2.0 * _numbers(radius).astype(float).ravel()
        if len(widths) not in (1, len(rows)):
            raise ValueError(f"{len(widths)} radii for {len(rows)} points: one, or one for each")
        prim.set("point3f[] points", _rows(rows), self.time)
        prim.set("float[] widths", _flat(np.broadcast_to(widths, len(rows))), self.time)
        self._colors(prim, colors, len(rows))
        return f"/root/{prim.name}"

    def render_line_strip(self, name, vertices, color=None, radius=0.01, visible=True):
        """A line through these points."""
        rows = _numbers(vertices).reshape(-1, 3)
        return self._curves(name, rows, [len(rows)], color, radius, visible)

    def render_line_list(self, name, vertices, indices, color=None, radius=0.01, visible=True):
        """A line for each pair of indices of points."""
        ends = _numbers(indices).ravel().astype(np.int64)
        return self._curves(name, _numbers(vertices).reshape(-1, 3)[ends], [2] * (len(ends) // 2), color, radius, visible)

    def _curves(self, name, points, counts, color, radius, visible):
        prim = self._prim(name, "BasisCurves", visible=visible, color=color)
        prim.set("uniform token type", '"linear"')
        prim.set("int[] curveVertexCounts", _flat(counts, "{}"), self.time)
        prim.set("point3f[] points", _rows(points), self.time)
        prim.set("float[] widths", f"[{2 * float(radius):.9g}]", self.time, ' (\n            interpolation = "constant"\n        )')
        return f"/root/{prim.name}"

    def text(self) -> str:
        """The scene as USD's text."""
        head = f'#usda 1.0\n(\n    defaultPrim = "root"\n    endTimeCode = {self.last}\n    framesPerSecond = {self.fps:g}\n'
        return f'{head}    startTimeCode = 0\n    timeCodesPerSecond = {self.fps:g}\n    upAxis = "{self.up_axis}"\n)\n\n{self.root.text()}\n'

    def save(self) -> bool:
        """Writes the file."""
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(self.text())
        return True


def _name(word) -> str:
    """A name that USD takes."""
    made = re.sub(r"\W", "_", str(word)) or "_"
    return f"_{made}" if made[0].isdigit() else made


class OpenGLRenderer:
    """Warp's window, which kc does not have."""

    def __init__(self, *_, **__):
        raise NotImplementedError("kc.warp.render opens no window: UsdRenderer writes files; with Warp installed, `warp.render` has a window")
