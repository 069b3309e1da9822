"""Three objectives of the ADBench suite (Srajer, Kukelova, Fitzgibbon: A benchmark of selected algorithmic differentiation tools,
2018) as kernels in double precision.

GMM: the log-likelihood of points x[:, i] in a Gaussian mixture, with a Wishart prior. Component k has the inverse covariance root
with exp(q[k, j]) on the diagonal and l[k, j (j - 1) / 2 + m] below it. `gmm_term` has one thread for each point and component,
`gmm_sum` one for each point, `gmm_prior` one for each component.

BA: bundle adjustment, one thread for each observation. A camera is 11 numbers: rotation vector, centre, focal length,
principal point, two coefficients of radial distortion.

LSTM: the loss of a network of such layers that guesses the next of a sequence of one-hot vectors; all of it in one thread, whose state and
guesses are overwritten in every step. `weight[l, n, i]` are the weights of the four gates of a layer (forget, in, out, change) and then
their biases, `extra` the weights of the input, and weight and bias of the output; `state[l, 0, i]` is the hidden state, `state[l, 1, i]` the cell.
"""
import warp as wp

real = wp.float64


@wp.kernel
def gmm_term(
    x: wp.array2d(dtype=real),
    alpha: wp.array(dtype=real),
    mean: wp.array2d(dtype=real),
    q: wp.array2d(dtype=real),
    l: wp.array2d(dtype=real),
    term: wp.array2d(dtype=real),
):
    k, i = wp.tid()
    square = real(0.0)
    total = alpha[k]
    for j in range(x.shape[0]):
        z = wp.exp(q[k, j]) * (x[j, i] - mean[k, j])
        row = j * (j - 1) // 2
        for m in range(j):
            z += l[k, row + m] * (x[m, i] - mean[k, m])
        square += z * z
        total += q[k, j]
    term[k, i] = total - real(0.5) * square


@wp.kernel
def gmm_sum(term: wp.array2d(dtype=real), value: wp.array(dtype=real)):
    i = wp.tid()
    top = term[0, i]
    for k in range(1, term.shape[0]):
        top = wp.max(top, term[k, i])
    s = real(0.0)
    for k in range(term.shape[0]):
        s += wp.exp(term[k, i] - top)
    wp.atomic_add(value, 0, wp.log(s) + top)


@wp.kernel
def gmm_prior(
    q: wp.array2d(dtype=real), l: wp.array2d(dtype=real), gamma: real, degrees: real, value: wp.array(dtype=real)
):
    k = wp.tid()
    s = real(0.0)
    for j in range(q.shape[1]):
        e = wp.exp(q[k, j])
        s += real(0.5) * gamma * gamma * e * e - degrees * q[k, j]
    for j in range(l.shape[1]):
        s += real(0.5) * gamma * gamma * l[k, j] * l[k, j]
    wp.atomic_add(value, 0, s)


@wp.func
def rotate(r: wp.vec3d, v: wp.vec3d) -> wp.vec3d:
    square = wp.dot(r, r)
    if square == real(0.0):
        return v + wp.cross(r, v)
    angle = wp.sqrt(square)
    axis = r / angle
    c = wp.cos(angle)
    s = wp.sin(angle)
    return v * c + wp.cross(axis, v) * s + axis * (wp.dot(axis, v) * (real(1.0) - c))


@wp.kernel
def ba(
    camera: wp.array2d(dtype=real),
    point: wp.array(dtype=wp.vec3d),
    weight: wp.array(dtype=real),
    which_camera: wp.array(dtype=int),
    which_point: wp.array(dtype=int),
    seen: wp.array(dtype=wp.vec2d),
    error: wp.array(dtype=wp.vec2d),
    weight_error: wp.array(dtype=real),
):
    i = wp.tid()
    c = which_camera[i]
    centre = wp.vec3d(camera[c, 3], camera[c, 4], camera[c, 5])
    p = rotate(wp.vec3d(camera[c, 0], camera[c, 1], camera[c, 2]), point[which_point[i]] - centre)
    u = wp.vec2d(p[0] / p[2], p[1] / p[2])
    square = wp.dot(u, u)
    bend = real(1.0) + camera[c, 9] * square + camera[c, 10] * square * square
    at = u * bend * camera[c, 6] + wp.vec2d(camera[c, 7], camera[c, 8])
    w = weight[i]
    error[i] = (at - seen[i]) * w
    weight_error[i] = real(1.0) - w * w


@wp.func
def sigmoid(x: real) -> real:
    return real(1.0) / (real(1.0) + wp.exp(-x))


@wp.kernel
def lstm(
    weight: wp.array3d(dtype=real),
    extra: wp.array2d(dtype=real),
    state: wp.array3d(dtype=real),
    sequence: wp.array2d(dtype=real),
    guess: wp.array(dtype=real),
    value: wp.array(dtype=real),
):
    total = real(0.0)
    count = sequence.shape[0] - 1
    width = sequence.shape[1]
    for t in range(count):
        for i in range(width):
            x = sequence[t, i] * extra[0, i]
            for l in range(state.shape[0]):
                forget = sigmoid(x * weight[l, 0, i] + weight[l, 4, i])
                keep = sigmoid(state[l, 0, i] * weight[l, 1, i] + weight[l, 5, i])
                out = sigmoid(x * weight[l, 2, i] + weight[l, 6, i])
                change = wp.tanh(state[l, 0, i] * weight[l, 3, i] + weight[l, 7, i])
                cell = state[l, 1, i] * forget + keep * change
                state[l, 1, i] = cell
                x = out * wp.tanh(cell)
                state[l, 0, i] = x
            guess[i] = x * extra[1, i] + extra[2, i]
        s = real(2.0)
        for i in range(width):
            s += wp.exp(guess[i])
        norm = wp.log(s)
        for i in range(width):
            total += sequence[t + 1, i] * (guess[i] - norm)
    value[0] = -total / real(count * width)
