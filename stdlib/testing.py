# Checks that kernels make of their own results. A failed check is an error of the run; the thread
# goes on.


@func
@no_grad("a check")
def expect_eq(a: T, b: T):
    """Checks that `a` and `b` are equal."""
    assert a == b, "expect_eq: the values differ"


@func
@no_grad("a check")
def expect_neq(a: T, b: T):
    """Checks that `a` and `b` are not equal."""
    assert a != b, "expect_neq: the values are equal"


@func
@no_grad("a truth value")
def _near(a: Float, b: Float, tolerance: Float) -> bool:
    """Whether `a` and `b` are equal or differ by at most `tolerance`. NaN is near nothing."""
    return a == b or abs(a - b) <= tolerance


@func
@no_grad("a check")
def expect_near(a: Float, b: Float, tolerance: Float = 1.0e-6):
    """Checks that `a` and `b` differ by at most `tolerance`."""
    assert _near(a, b, tolerance), "expect_near: the values differ by more than the tolerance"


@func
@no_grad("a check")
def expect_near(a: Vec[N, Float], b: Vec[N, Float], tolerance: Float = 1.0e-6):
    """Checks that all components of `a` and `b` differ by at most `tolerance`."""
    near = True
    for i in range(N):
        near = near and _near(a[i], b[i], tolerance)
    assert near, "expect_near: the values differ by more than the tolerance"


@func
@no_grad("a check")
def expect_near(a: Quat[Float], b: Quat[Float], tolerance: Float = 1.0e-6):
    """Checks that all components of `a` and `b` differ by at most `tolerance`."""
    near = True
    for i in range(4):
        near = near and _near(a[i], b[i], tolerance)
    assert near, "expect_near: the values differ by more than the tolerance"


@func
@no_grad("a check")
def expect_near(a: Mat[R, C, Float], b: Mat[R, C, Float], tolerance: Float = 1.0e-6):
    """Checks that all components of `a` and `b` differ by at most `tolerance`."""
    near = True
    for i in range(R):
        for j in range(C):
            near = near and _near(a[i, j], b[i, j], tolerance)
    assert near, "expect_near: the values differ by more than the tolerance"
