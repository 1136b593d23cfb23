// The loops behind Operations, written once over a vector type. Each instruction set has a file
// that is compiled for it and instantiates them with a type of its own; nothing here may call a
// function that other files share, or the linker could keep its AVX-512 copy for all.
#pragma once

#include "measure/isa/operations.hpp"

namespace nearfar::measure {

// `Wide` has: Vector, load, nt_load, store, stream, add, exclusive_or, zero, set, sum (of words).
template <typename Wide>
struct Loops {
  using Vector = typename Wide::Vector;
  using Line = const std::byte*;
  static constexpr std::uint64_t per_line = 64 / sizeof(Vector);

  static const Vector* in(Line at) { return reinterpret_cast<const Vector*>(at); }
  static Vector* out(std::byte* at) { return reinterpret_cast<Vector*>(at); }
  template <bool nt>
  static void put(Vector* to, Vector value) {
    if constexpr (nt) {
      Wide::stream(to, value);
    } else {
      Wide::store(to, value);
    }
  }
  // Between lines: a loop that copies or fills must stay that loop, and not become a call of memcpy
  // or memset. No instruction.
  static void line_ends() { asm volatile("" ::: "memory"); }
  static Vector times_3(Vector a) { return Wide::add(Wide::add(a, a), a); }

  template <bool nt>
  static std::uint64_t load_all(Line from, std::uint64_t count) {
    const Vector* at = in(from);
    auto one = [](const Vector* vector) {
      if constexpr (nt) {
        return Wide::nt_load(vector);
      } else {
        return Wide::load(vector);
      }
    };
    // Two sums, so that additions do not wait for each other; pairs of lines.
    Vector even = Wide::zero();
    Vector odd = Wide::zero();
    std::uint64_t line = 0;
    for (; line + 2 <= count; line += 2, at += 2 * per_line) {
      for (std::uint64_t i = 0; i < per_line; ++i) {
        even = Wide::add(even, one(at + i));
        odd = Wide::add(odd, one(at + per_line + i));
      }
    }
    if (line < count) {
      for (std::uint64_t i = 0; i < per_line; ++i) even = Wide::add(even, one(at + i));
    }
    return Wide::sum(Wide::add(even, odd));
  }
  static std::uint64_t read(Line from, std::uint64_t count) { return load_all<false>(from, count); }
  static std::uint64_t nt_load(Line from, std::uint64_t count) {
    return load_all<true>(from, count);
  }

  template <bool nt>
  static void store_all(std::byte* to, std::uint64_t count, std::uint64_t value) {
    Vector* at = out(to);
    const Vector lanes = Wide::set(value);
    for (std::uint64_t line = 0; line < count; ++line, at += per_line) {
      for (std::uint64_t i = 0; i < per_line; ++i) put<nt>(at + i, lanes);
      line_ends();
    }
  }
  static std::uint64_t update(std::byte* to, std::uint64_t count) {
    Vector* at = out(to);
    const Vector one = Wide::set(1);
    Vector sum = Wide::zero();
    for (std::uint64_t i = 0; i < count * per_line; ++i) {
      const Vector value = Wide::load(at + i);
      sum = Wide::add(sum, value);
      Wide::store(at + i, Wide::add(value, one));
    }
    return Wide::sum(sum);
  }

  // Sums what `of` stored as well as loaded would be one more addition; what is stored depends on
  // all that was loaded, so its sum tells as much.
  template <bool nt, typename Of>
  static std::uint64_t stream_all(std::byte* to, std::uint64_t count, Of of) {
    Vector* at = out(to);
    Vector sum = Wide::zero();
    for (std::uint64_t line = 0; line < count; ++line) {
      for (std::uint64_t i = line * per_line; i < (line + 1) * per_line; ++i) {
        const Vector value = of(i);
        sum = Wide::add(sum, value);
        put<nt>(at + i, value);
      }
      line_ends();
    }
    return Wide::sum(sum);
  }
  template <bool nt>
  static std::uint64_t copy(std::byte* to, Line a, std::uint64_t count) {
    return stream_all<nt>(to, count, [=](std::uint64_t i) { return Wide::load(in(a) + i); });
  }
  static std::uint64_t scale(std::byte* to, Line a, std::uint64_t count) {
    return stream_all<false>(to, count,
                             [=](std::uint64_t i) { return times_3(Wide::load(in(a) + i)); });
  }
  static std::uint64_t add(std::byte* to, Line a, Line b, std::uint64_t count) {
    return stream_all<false>(to, count, [=](std::uint64_t i) {
      return Wide::add(Wide::load(in(a) + i), Wide::load(in(b) + i));
    });
  }
  template <bool nt>
  static std::uint64_t stream(std::byte* to, Line a, Line b, std::uint64_t count) {
    return stream_all<nt>(to, count, [=](std::uint64_t i) {
      return Wide::add(Wide::load(in(a) + i), times_3(Wide::load(in(b) + i)));
    });
  }
  template <bool nt>
  static std::uint64_t triad(std::byte* to, Line a, Line b, Line c, std::uint64_t count) {
    return stream_all<nt>(to, count, [=](std::uint64_t i) {
      const Vector both = Wide::exclusive_or(Wide::load(in(a) + i), Wide::load(in(b) + i));
      return Wide::add(both, Wide::load(in(c) + i));
    });
  }

  template <bool nt>
  static std::uint64_t mixed(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                             std::uint64_t value) {
    const Vector* source = in(from);
    Vector* goal = out(to);
    const Vector lanes = Wide::set(value);
    Vector sum = Wide::zero();
    for (; count > 0; --count, reads >>= 1U) {
      if ((reads & 1U) != 0) {
        for (std::uint64_t i = 0; i < per_line; ++i) sum = Wide::add(sum, Wide::load(source + i));
        source += per_line;
      } else {
        for (std::uint64_t i = 0; i < per_line; ++i) put<nt>(goal + i, lanes);
        goal += per_line;
      }
    }
    return Wide::sum(sum);
  }

  static std::uint64_t gather_each(Line base, const std::uint64_t* offsets) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < scattered_lines; ++i) {
      sum += *reinterpret_cast<const volatile std::uint64_t*>(base + offsets[i]);
    }
    return sum;
  }
  static void scatter_each(std::byte* base, const std::uint64_t* offsets, std::uint64_t value) {
    for (unsigned i = 0; i < scattered_lines; ++i) {
      *reinterpret_cast<volatile std::uint64_t*>(base + offsets[i]) = value;
    }
  }

  // Without nt_load, and with a gather and a scatter of one load or store after the other.
  static constexpr Operations table(const char* name, bool has_nt_store) {
    return {.name = name,
            .read = read,
            .nt_load = nullptr,
            .write = store_all<false>,
            .nt_store = store_all<true>,
            .update = update,
            .copy = copy<false>,
            .copy_nt = copy<true>,
            .scale = scale,
            .add = add,
            .stream = stream<false>,
            .stream_nt = stream<true>,
            .triad = triad<false>,
            .triad_nt = triad<true>,
            .mixed = mixed<false>,
            .mixed_nt = mixed<true>,
            .gather = gather_each,
            .scatter = scatter_each,
            .has_nt_store = has_nt_store};
  }
};

// Each in its own file; only those of this machine's family are linked.
const Operations& scalar_operations();
const Operations& sse2_operations();
const Operations& avx2_operations();
const Operations& avx512_operations();

}  // namespace nearfar::measure
