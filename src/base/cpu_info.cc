#include "base/cpu_info.h"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <cstdint>
#include <sys/syscall.h>
#endif
#ifdef __unix__
#include <unistd.h>
#endif

namespace glassformer {
namespace {

#if defined(__x86_64__) && defined(__linux__)
uint64_t enabled_state() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// `unit`: the bit of the kind of tiles in leaf 7's d.
bool ask_for_amx(unsigned unit) {
  constexpr unsigned kOsxsave = 1U << 27, kAmxTile = 1U << 24;
  constexpr uint64_t kTileState = (1U << 17) | (1U << 18);
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kOsxsave)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if (!(d & unit) || !(d & kAmxTile)) return false;
  if ((enabled_state() & kTileState) != kTileState) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#else
bool ask_for_amx(unsigned) { return false; }
#endif

bool turned_off(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && std::string_view(value) == "0";
}

// The family of a processor of AMD's, 0x19 of a Zen 4; 0 for others.
unsigned amd_family() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__builtin_cpu_is("amd") != 0 && __get_cpuid(1, &a, &b, &c, &d) != 0)
    return (a >> 8 & 0xF) + (a >> 20 & 0xFF);
#endif
  return 0;
}

bool amx_turned_off() { return avx512_turned_off() || turned_off("GLASSFORMER_AMX"); }

}  // namespace

bool avx2_turned_off() { return turned_off("GLASSFORMER_AVX2"); }
bool avx512_turned_off() { return avx2_turned_off() || turned_off("GLASSFORMER_AVX512"); }

bool amx_bf16_usable() {
  static const bool usable = !amx_turned_off() && ask_for_amx(1U << 22);
  return usable;
}

bool amx_int8_usable() {
  static const bool usable = !amx_turned_off() && ask_for_amx(1U << 25);
  return usable;
}

bool avx512_bf16_usable() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();  // constructors of other files may ask before its own has run
  static const bool usable =
      !avx512_turned_off() && !turned_off("GLASSFORMER_AVX512_BF16") &&
      __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  return usable;
#else
  return false;
#endif
}

size_t prefetch_of_streams() {
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel") != 0) return 4096;
#endif
  return 0;
}

size_t prefetch_of_unpacked_streams() {
  return amd_family() >= 0x1A ? 8192 : prefetch_of_streams();
}

int first_cache_ways() {
#ifdef _SC_LEVEL1_DCACHE_ASSOC
  static const long ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC);
  if (ways > 0) return static_cast<int>(ways);
#endif
  return 8;
}

bool bf16_products_usable() { return amx_bf16_usable() || avx512_bf16_usable(); }

}  // namespace glassformer
