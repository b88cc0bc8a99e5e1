/// What AddressSanitizer and ThreadSanitizer must know of Mesa's software driver; nothing in an ordinary build.
#if defined(__SANITIZE_ADDRESS__)
// The loader unloads the driver at the end, and what it allocated can then no longer be attributed: 112 bytes "leaked".
// So drivers stay loaded in tests. Link with -rdynamic, so that the loader finds this one.
extern "C" int dlclose(void*) {
  return 0;
}
// SDL opens the session bus once per process and keeps it.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libVkLayer_khronos_validation.so\nleak:libdbus-1.so\n";
}
#elif defined(__SANITIZE_THREAD__)
// The driver's own threads and its JIT, the validation layer and the video codec synchronise in ways that
// ThreadSanitizer does not see. GDAL, which OpenCV loads for its image formats, takes two locks both ways round.
extern "C" const char* __tsan_default_suppressions() {
  return "race:libvulkan_lvp.so\nrace:libLLVM\nrace:libavcodec.so\nrace:libavutil.so\n"
         "race:libVkLayer_khronos_validation.so\ndeadlock:libgdal.so\n";
}
#endif
