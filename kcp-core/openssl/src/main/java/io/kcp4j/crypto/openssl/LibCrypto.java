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

/**
 * Those of OpenSSL's functions {@code EVP_CIPHER...} that are needed, with its parameters. The ones
 * that take bytes take them on the heap. Handles have to be constants for the JIT compiler.
 */
final class LibCrypto {

  /** All of OpenSSL 3 has this name and one ABI. */
  private static final String FILE = "libcrypto.so.3";

  private static final SymbolLookup SYMBOLS = SymbolLookup.libraryLookup(FILE, Arena.global());

  private static final MethodHandle FETCH =
      handle("EVP_CIPHER_fetch", FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, ADDRESS));
  private static final MethodHandle FREE =
      handle("EVP_CIPHER_free", FunctionDescriptor.ofVoid(ADDRESS));
  private static final MethodHandle NEW_CONTEXT =
      handle("EVP_CIPHER_CTX_new", FunctionDescriptor.of(ADDRESS));
  private static final MethodHandle FREE_CONTEXT =
      handle("EVP_CIPHER_CTX_free", FunctionDescriptor.ofVoid(ADDRESS));
  private static final MethodHandle SET_PADDING =
      handle("EVP_CIPHER_CTX_set_padding", status(ADDRESS, JAVA_INT));
  private static final MethodHandle INIT =
      onHeap("EVP_CipherInit_ex", status(ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_INT));
  private static final MethodHandle UPDATE =
      onHeap("EVP_CipherUpdate", status(ADDRESS, ADDRESS, ADDRESS, ADDRESS, JAVA_INT));
  private static final MethodHandle FINAL =
      onHeap("EVP_CipherFinal_ex", status(ADDRESS, ADDRESS, ADDRESS));
  private static final MethodHandle GET_PARAMETERS =
      onHeap("EVP_CIPHER_CTX_get_params", status(ADDRESS, ADDRESS));
  private static final MethodHandle SET_PARAMETERS =
      onHeap("EVP_CIPHER_CTX_set_params", status(ADDRESS, ADDRESS));

  private LibCrypto() {}

  /**
   * Looks for all of it.
   *
   * @throws LinkageError if the library or a function is missing
   */
  static void load() {}

  private static FunctionDescriptor status(MemoryLayout... parameters) {
    return FunctionDescriptor.of(JAVA_INT, parameters);
  }

  private static MethodHandle onHeap(String name, FunctionDescriptor types) {
    return handle(name, types, Linker.Option.critical(true));
  }

  private static MethodHandle handle(
      String name, FunctionDescriptor types, Linker.Option... options) {
    return Linker.nativeLinker().downcallHandle(SYMBOLS.findOrThrow(name), types, options);
  }

  /** A new context for one algorithm, freed when {@code arena} ends. */
  static MemorySegment newContext(Arena arena) {
    try {
      MemorySegment context = (MemorySegment) NEW_CONTEXT.invokeExact();
      return context.reinterpret(arena, LibCrypto::freeContext);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  private static void freeContext(MemorySegment context) {
    try {
      FREE_CONTEXT.invokeExact(context);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Gives a context its algorithm, direction and key. */
  static void init(MemorySegment context, String algorithm, byte[] key, int direction) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment cipher =
          (MemorySegment)
              FETCH.invokeExact(
                  MemorySegment.NULL, arena.allocateFrom(algorithm), MemorySegment.NULL);
      if (cipher.equals(MemorySegment.NULL)) {
        throw new IllegalArgumentException("algorithm: " + algorithm + " (expected: one it has)");
      }
      check(
          (int)
              INIT.invokeExact(
                  context,
                  cipher,
                  MemorySegment.NULL,
                  MemorySegment.ofArray(key),
                  MemorySegment.NULL,
                  direction));
      FREE.invokeExact(cipher); // the context keeps what it needs
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Begins another message under the same key. */
  static void restart(MemorySegment context, MemorySegment nonce) {
    try {
      check(
          (int)
              INIT.invokeExact(
                  context, MemorySegment.NULL, MemorySegment.NULL, MemorySegment.NULL, nonce, -1));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  static void setPadding(MemorySegment context, int padding) {
    try {
      check((int) SET_PADDING.invokeExact(context, padding));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  static void update(
      MemorySegment context,
      MemorySegment out,
      MemorySegment outBytes,
      MemorySegment in,
      int inBytes) {
    try {
      check((int) UPDATE.invokeExact(context, out, outBytes, in, inBytes));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Ends a message, and says whether its tag is right. */
  static boolean finish(MemorySegment context, MemorySegment out, MemorySegment outBytes) {
    try {
      return (int) FINAL.invokeExact(context, out, outBytes) == 1;
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  static void getParameters(MemorySegment context, MemorySegment parameters) {
    try {
      check((int) GET_PARAMETERS.invokeExact(context, parameters));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  static void setParameters(MemorySegment context, MemorySegment parameters) {
    try {
      check((int) SET_PARAMETERS.invokeExact(context, parameters));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  private static void check(int status) {
    if (status != 1) {
      throw new IllegalStateException("libcrypto failed");
    }
  }

  /** Handles declare everything, and throw what is not checked. */
  private static RuntimeException failure(Throwable t) {
    if (t instanceof Error e) {
      throw e;
    }
    return t instanceof RuntimeException e ? e : new IllegalStateException(t);
  }
}
