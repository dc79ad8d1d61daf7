package io.kcp4j.crypto.openssl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;

/**
 * OpenSSL's default provider, in a library context of its own: neither the system's configuration
 * nor what else uses OpenSSL in this process matters to it, nor it to them. See provider(7).
 */
final class DefaultProvider {

  /** All of OpenSSL 3 has this name and one ABI. */
  private static final String FILE = "libcrypto.so.3";

  private static final SymbolLookup SYMBOLS = SymbolLookup.libraryLookup(FILE, Arena.global());

  /** {@code OSSL_OP_CIPHER}. */
  private static final int CIPHERS = 2;

  /** Of an {@code OSSL_ALGORITHM}: names, properties, functions, description. */
  private static final long ALGORITHM_BYTES = 4 * ADDRESS.byteSize();

  private static final long FUNCTIONS_OFFSET = 2 * ADDRESS.byteSize();

  /** Of an {@code OSSL_DISPATCH}: a number, padded, and the function. */
  private static final long FUNCTION_BYTES = 2 * ADDRESS.byteSize();

  private static final long FUNCTION_OFFSET = ADDRESS.byteSize();

  /** What the provider's functions know it by. */
  private static final MemorySegment CONTEXT;

  /** Ends with one that has no names. */
  private static final MemorySegment ALGORITHMS;

  static {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment library = present((MemorySegment) handle("OSSL_LIB_CTX_new").invokeExact());
      MemorySegment provider =
          present(
              (MemorySegment)
                  handle("OSSL_PROVIDER_load", ADDRESS, ADDRESS)
                      .invokeExact(library, arena.allocateFrom("default")));
      CONTEXT =
          (MemorySegment) handle("OSSL_PROVIDER_get0_provider_ctx", ADDRESS).invokeExact(provider);
      ALGORITHMS =
          present(
              (MemorySegment)
                  handle("OSSL_PROVIDER_query_operation", ADDRESS, JAVA_INT, ADDRESS)
                      .invokeExact(provider, CIPHERS, arena.allocate(JAVA_INT)));
    } catch (Throwable t) {
      throw new ExceptionInInitializerError(t);
    }
  }

  private DefaultProvider() {}

  /**
   * Looks for all of it.
   *
   * @throws LinkageError if the library, a function or the provider is missing
   */
  static void load() {}

  private static MethodHandle handle(String name, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(SYMBOLS.findOrThrow(name), FunctionDescriptor.of(ADDRESS, parameters));
  }

  /** A pointer that a function returned, which fails by returning none. */
  static MemorySegment present(MemorySegment pointer) {
    if (pointer.equals(MemorySegment.NULL)) {
      throw new IllegalStateException("libcrypto failed");
    }
    return pointer.reinterpret(Long.MAX_VALUE);
  }

  static MemorySegment context() {
    return CONTEXT;
  }

  /**
   * The functions for one cipher, to be looked up by {@link #function}.
   *
   * @throws IllegalArgumentException if the provider has no such cipher
   */
  static MemorySegment functions(String cipher) {
    for (long at = 0; ; at += ALGORITHM_BYTES) {
      MemorySegment names = ALGORITHMS.get(ADDRESS, at);
      if (names.equals(MemorySegment.NULL)) {
        throw new IllegalArgumentException("cipher: " + cipher + " (expected: one it has)");
      }
      if (Arrays.asList(present(names).getString(0).split(":")).contains(cipher)) {
        return present(ALGORITHMS.get(ADDRESS, at + FUNCTIONS_OFFSET));
      }
    }
  }

  /**
   * One of several functions.
   *
   * @param number of core_dispatch.h
   */
  static MemorySegment function(MemorySegment functions, int number) {
    for (long at = 0; ; at += FUNCTION_BYTES) {
      int found = functions.get(JAVA_INT, at);
      if (found == 0) {
        throw new IllegalStateException("function: " + number + " (expected: one it has)");
      }
      if (found == number) {
        return functions.get(ADDRESS, at + FUNCTION_OFFSET);
      }
    }
  }
}
