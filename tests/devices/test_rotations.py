from __future__ import annotations

import numpy as np
import pytest

from devices import rotations as r


def test_against_scipy():
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    rng = np.random.default_rng(1)
    for _ in range(200):
        vector = rng.normal(size=3) * rng.choice([1e-12, 1e-3, 1.0])
        vector = vector if np.linalg.norm(vector) < np.pi else vector / np.linalg.norm(vector) * 3.0
        q = r.quat_from_vector(vector)
        np.testing.assert_allclose(q, rotation.from_rotvec(vector).as_quat(), atol=1e-14)
        np.testing.assert_allclose(r.vector_from_quat(q), vector, atol=1e-13)
        np.testing.assert_allclose(r.vector_from_quat(-q), vector, atol=1e-13)
        m = r.matrix_from_quat(q)
        np.testing.assert_allclose(m, rotation.from_rotvec(vector).as_matrix(), atol=1e-14)
        np.testing.assert_allclose(r.matrix_from_quat(r.quat_from_matrix(m)), m, atol=1e-14)
        other = r.quat_from_vector(rng.normal(size=3))
        np.testing.assert_allclose(
            r.matrix_from_quat(r.quat_multiply(q, other)), m @ r.matrix_from_quat(other), atol=1e-13
        )


def test_half_turns():
    for axis in np.vstack([np.eye(3), [[0.6, 0.8, 0.0], [0.0, 0.6, -0.8]]]):
        m = r.matrix_from_quat(r.quat_from_vector(np.pi * axis))
        np.testing.assert_allclose(r.matrix_from_quat(r.quat_from_matrix(m)), m, atol=1e-14)


def test_camera_frame():
    # standing at -y and above, looking at the origin: away is +y and stays level
    level = r.camera_rotation([0, -1, 1], [0, 0, 0], [0, 0, 1])
    np.testing.assert_allclose(level, np.eye(3), atol=1e-14)
    true = r.camera_rotation([0, -1, 1], [0, 0, 0], [0, 0, 1], level=False)
    np.testing.assert_allclose(true[:, 1], np.array([0, 1, -1]) / np.sqrt(2), atol=1e-14)
    # from the side: the operator's right is -y... seen from -x, right is -y
    side = r.camera_rotation([-1, 0, 0.5], [0, 0, 0], [0, 0, 1])
    np.testing.assert_allclose(side, np.column_stack([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), atol=1e-14)
    # straight down with world y at the top of the screen
    np.testing.assert_allclose(r.camera_rotation([0, 0, 2], [0, 0, 0], [0, 1, 0]), np.eye(3), atol=1e-14)
    for m in (level, true, side):
        np.testing.assert_allclose(m.T @ m, np.eye(3), atol=1e-14)
        assert np.linalg.det(m) > 0
    with pytest.raises(ValueError, match="legal: eye and target apart, up not along the view"):
        r.camera_rotation([0, 0, 1], [0, 0, 0], [0, 0, 1])


def test_nearest_rotation():
    m = r.matrix_from_quat(r.quat_from_vector(np.array([0.3, -0.4, 0.5])))
    np.testing.assert_allclose(r.nearest_rotation(m @ np.diag([1.01, 0.99, 1.0])), m, atol=1e-12)
    with pytest.raises(ValueError, match="no nearest rotation"):
        r.nearest_rotation(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ValueError, match="has no direction"):
        r.quat_normalised(np.zeros(4))
