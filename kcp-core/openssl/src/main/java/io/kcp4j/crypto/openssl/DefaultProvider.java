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
 * The default provider of OpenSSL, in a library context of its own: independent of the system
 * configuration and of other users of OpenSSL in this process. See provider(7).
 */
final class DefaultProvider {

  /** All versions of OpenSSL 3 have this name and one ABI. */
  private static final String FILE = "libcrypto.so.3";

  private static final SymbolLookup SYMBOLS = SymbolLookup.libraryLookup(FILE, Arena.global());

  /** {@code OSSL_OP_CIPHER}. */
  private static final int CIPHERS = 2;

  /** An {@code OSSL_ALGORITHM}: names, properties, functions, description. */
  private static final long ALGORITHM_BYTES = 4 * ADDRESS.byteSize();

  private static final long FUNCTIONS_OFFSET = 2 * ADDRESS.byteSize();

  /** An {@code OSSL_DISPATCH}: a number, padded, and the function. */
  private static final long FUNCTION_BYTES = 2 * ADDRESS.byteSize();

  private static final long FUNCTION_OFFSET = ADDRESS.byteSize();

  /** The provider context, passed to the functions of the provider. */
  private static final MemorySegment CONTEXT;

  /** Terminated by an entry without names. */
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

  private static MethodHandle handle(String name, MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(SYMBOLS.findOrThrow(name), FunctionDescriptor.of(ADDRESS, parameters));
  }

  /** Checks a pointer that a function returned: a null pointer means failure. */
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
   * The functions of one cipher, for {@link #function}.
   *
   * @throws IllegalArgumentException if the provider has no such cipher
   */
  static MemorySegment functions(String cipher) {
    for (long at = 0; ; at += ALGORITHM_BYTES) {
      MemorySegment names = ALGORITHMS.get(ADDRESS, at);
      if (names.equals(MemorySegment.NULL)) {
        throw new IllegalArgumentException("cipher: " + cipher + " (expected: a known one)");
      }
      if (Arrays.asList(present(names).getString(0).split(":")).contains(cipher)) {
        return present(ALGORITHMS.get(ADDRESS, at + FUNCTIONS_OFFSET));
      }
    }
  }

  /**
   * One of the functions of a cipher.
   *
   * @param number of core_dispatch.h
   */
  static MemorySegment function(MemorySegment functions, int number) {
    for (long at = 0; ; at += FUNCTION_BYTES) {
      int found = functions.get(JAVA_INT, at);
      if (found == 0) {
        throw new IllegalStateException("function: " + number + " (expected: a known one)");
      }
      if (found == number) {
        return functions.get(ADDRESS, at + FUNCTION_OFFSET);
      }
    }
  }
}
