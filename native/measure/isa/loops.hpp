// Loops of Operations for any vector type. Each instruction set has a file that is compiled for it
// and instantiates them with its own type. They must not call functions shared between files, or
// the linker could keep the AVX-512 version for all.
#pragma once

#include "measure/isa/operations.hpp"

namespace nearfar::measure {

// `Wide` has Vector, load, nt_load, store, stream, add, exclusive_or, multiply (the lower halves of
// words), zero, set, sum (of words).
template <typename Wide>
struct Loops {
  using Vector = typename Wide::Vector;
  using Line = const std::byte*;
  static constexpr std::uint64_t per_line = 64 / sizeof(Vector);

  static const Vector* in(Line at) { return reinterpret_cast<const Vector*>(at); }
  static Vector* out(std::byte* at) { return reinterpret_cast<Vector*>(at); }
  template <bool nt>
  static void store_vector(Vector* to, Vector value) {
    if constexpr (nt) {
      Wide::stream(to, value);
    } else {
      Wide::store(to, value);
    }
  }
  // Between lines, keeps their order and the compiler from replacing a loop by memcpy or memset.
  // Emits no instruction.
  static void end_line() { asm volatile("" ::: "memory"); }
  // Of each word's lower half: one instruction, which with AVX2 and AVX-512 also loads. With two
  // additions instead, STREAM's triad with non-temporal stores moves 6 % less (AVX2 on an AMD EPYC
  // of family 25, model 1).
  static Vector times_3(Vector a) { return Wide::multiply(a, Wide::set(3)); }

  template <bool nt>
  static std::uint64_t load_all(Line from, std::uint64_t count) {
    const Vector* at = in(from);
    auto load = [](const Vector* vector) {
      if constexpr (nt) {
        return Wide::nt_load(vector);
      } else {
        return Wide::load(vector);
      }
    };
    // Several sums, so that additions do not depend on each other. With AVX2, eight vectors at a
    // time read 2 to 4 % more than four on an AMD EPYC of family 25, and 12 to 15 % less than two
    // on one of family 26, where AVX-512 does the same. So AVX-512, whose vector is a line, reads
    // two at a time and the others eight, and `measure` chooses the fastest.
    constexpr std::uint64_t at_once = per_line == 1 ? 2 : 8;
    constexpr std::uint64_t sums_at_once = per_line == 1 ? 2 : 4;
    Vector sums[sums_at_once];
    for (Vector& sum : sums) sum = Wide::zero();
    const Vector* end = at + count * per_line;
    for (; at + at_once <= end; at += at_once) {
      for (std::uint64_t i = 0; i < at_once; ++i) {
        sums[i % sums_at_once] = Wide::add(sums[i % sums_at_once], load(at + i));
      }
    }
    for (; at < end; ++at) sums[0] = Wide::add(sums[0], load(at));
    Vector all = sums[0];
    for (std::uint64_t i = 1; i < sums_at_once; ++i) all = Wide::add(all, sums[i]);
    return Wide::sum(all);
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
      for (std::uint64_t i = 0; i < per_line; ++i) store_vector<nt>(at + i, lanes);
      end_line();
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

  // Ordinary stores: a line at a time, its loads first. On an AMD EPYC (family 25, model 1), triads
  // that store each vector before they load the next move 2 to 9 % less (AVX2), copies the same,
  // and STREAM's triad moves 13 % less with two lines at once. No sum: it would slow triads by 1 to
  // 3 % (SSE2 on model 17).
  template <typename Compute>
  static void stored(std::byte* to, std::uint64_t count, Compute compute) {
    Vector* at = out(to);
    for (std::uint64_t line = 0; line < count; ++line) {
      Vector values[per_line];
      for (std::uint64_t k = 0; k < per_line; ++k) values[k] = compute(line * per_line + k);
      for (std::uint64_t k = 0; k < per_line; ++k) Wide::store(at + line * per_line + k, values[k]);
      end_line();
    }
  }
  // Non-temporal stores: several lines at once, their loads first, and no sum. The fewer
  // instructions a line takes, the more lines the core's window overlaps: on an AMD EPYC (family
  // 25, model 17) a line at a time with a sum copies 17 % less. Ordinary stores lose by several
  // lines at once: there they copy 8 to 25 % less.
  template <std::uint64_t at_once, typename Compute>
  static void streamed(std::byte* to, std::uint64_t count, Compute compute) {
    Vector* at = out(to);
    std::uint64_t i = 0;
    for (; i + at_once <= count * per_line; i += at_once) {
      Vector values[at_once];
      for (std::uint64_t k = 0; k < at_once; ++k) values[k] = compute(i + k);
      for (std::uint64_t k = 0; k < at_once; ++k) {
        Wide::stream(at + i + k, values[k]);
        if ((k + 1) % per_line == 0) end_line();
      }
    }
    for (; i < count * per_line; ++i) Wide::stream(at + i, compute(i));
  }
  template <bool nt, std::uint64_t at_once = 8, typename Compute>
  static void store_each(std::byte* to, std::uint64_t count, Compute compute) {
    if constexpr (nt) {
      streamed<at_once>(to, count, compute);
    } else {
      stored(to, count, compute);
    }
  }
  template <bool nt>
  static void copy(std::byte* to, Line a, std::uint64_t count) {
    store_each<nt>(to, count, [=](std::uint64_t i) { return Wide::load(in(a) + i); });
  }
  static void scale(std::byte* to, Line a, std::uint64_t count) {
    stored(to, count, [=](std::uint64_t i) { return times_3(Wide::load(in(a) + i)); });
  }
  static void add(std::byte* to, Line a, Line b, std::uint64_t count) {
    stored(to, count, [=](std::uint64_t i) {
      return Wide::add(Wide::load(in(a) + i), Wide::load(in(b) + i));
    });
  }
  template <bool nt>
  static void stream(std::byte* to, Line a, Line b, std::uint64_t count) {
    store_each<nt>(to, count, [=](std::uint64_t i) {
      return Wide::add(Wide::load(in(a) + i), times_3(Wide::load(in(b) + i)));
    });
  }
  // Two lines at once: of three arrays, eight vectors move 5 to 7 % less on an AMD EPYC (family
  // 25).
  template <bool nt>
  static void triad(std::byte* to, Line a, Line b, Line c, std::uint64_t count) {
    store_each<nt, 2 * per_line>(to, count, [=](std::uint64_t i) {
      const Vector both = Wide::exclusive_or(Wide::load(in(a) + i), Wide::load(in(b) + i));
      return Wide::add(both, Wide::load(in(c) + i));
    });
  }

  template <bool nt>
  static std::uint64_t mixed(Line from, std::byte* to, std::uint64_t reads, unsigned count,
                             std::uint64_t value) {
    const Vector* source = in(from);
    Vector* target = out(to);
    const Vector lanes = Wide::set(value);
    Vector sum = Wide::zero();
    for (; count > 0; --count, reads >>= 1U) {
      if ((reads & 1U) != 0) {
        for (std::uint64_t i = 0; i < per_line; ++i) sum = Wide::add(sum, Wide::load(source + i));
        source += per_line;
      } else {
        for (std::uint64_t i = 0; i < per_line; ++i) store_vector<nt>(target + i, lanes);
        target += per_line;
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

  // Table without nt_load; gather and scatter are single loads and stores.
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

// Each table is in its own file; only those for this processor family are linked.
const Operations& scalar_operations();
const Operations& sse2_operations();
const Operations& avx2_operations();
const Operations& avx512_operations();

}  // namespace nearfar::measure
