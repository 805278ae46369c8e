# SPDX-License-Identifier: BSD-3-Clause
"""host_twins_moves.py: twins with needless copies on the device.

Every copy is exact, so that the twins agree to the bit. For the comments
``# cause: NAME`` see host_twins.py.
"""

from __future__ import annotations

from torch import Tensor, nn

from benchmarks.lab.corpus.workloads.training import Training


class MovesOutputs(Training):
    """Moves what layers return, in the forward pass; its places are the layers.

    A layer is a module without others in it. Only float tensors are moved.
    """

    def make_model(self) -> nn.Module:
        model = super().make_model()
        layers = [m for m in model.modules() if not list(m.children())]
        for i, layer in enumerate(layers):
            if self.lab.takes(i):
                layer.register_forward_hook(self.moved_output)
        return model

    def moved_output(self, layer: nn.Module, given: object, output: object) -> object:
        floats = isinstance(output, Tensor) and output.is_floating_point()
        return self.move(output) if floats else output

    def move(self, x: Tensor) -> Tensor:
        """Return the same values."""
        return x


class CastsOutputs(MovesOutputs):
    """Casts them to float64 and back."""

    def move(self, x: Tensor) -> Tensor:
        return x.double().to(x.dtype)  # cause: outputs_cast


class ClonesOutputs(MovesOutputs):
    """Clones them."""

    def move(self, x: Tensor) -> Tensor:
        return x.clone()  # cause: outputs_cloned


class RelaysOutputs(MovesOutputs):
    """Lays them out with the first two dimensions swapped, and back."""

    def move(self, x: Tensor) -> Tensor:
        swapped = x.transpose(0, 1).contiguous()  # cause: outputs_relaid
        return swapped.transpose(0, 1).contiguous()


class MovesGradients(Training):
    """Moves the gradients before the update; its places are the parameters."""

    def adjust(self) -> None:
        for i, p in enumerate(self.model.parameters()):
            if self.lab.takes(i):
                p.grad = self.move(p.grad)

    def move(self, x: Tensor) -> Tensor:
        """Return the same values."""
        return x


class CastsGradients(MovesGradients):
    """Casts them to float64 and back."""

    def move(self, x: Tensor) -> Tensor:
        return x.double().to(x.dtype)  # cause: gradients_cast


class ClonesGradients(MovesGradients):
    """Clones them."""

    def move(self, x: Tensor) -> Tensor:
        return x.clone()  # cause: gradients_cloned
