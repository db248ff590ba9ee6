// shapes.cpp is compiled several times, each time with other flags and another VARIANT.
#pragma once
#include "walk.h"

#include <array>
#include <cstddef>

struct Shapes {
    const Shape* functions;
    size_t count;
    // The first of them, so many, have frames whose place does not tell who called: they are aligned to more than their
    // callers are.
    size_t loose;
};

extern const Shapes shapes_O0, shapes_O1, shapes_O2, shapes_O3, shapes_Os, shapes_framed, shapes_hardened;

inline const std::array<const Shapes*, 7> all_shapes{&shapes_O0, &shapes_O1,     &shapes_O2,      &shapes_O3,
                                                     &shapes_Os, &shapes_framed, &shapes_hardened};
