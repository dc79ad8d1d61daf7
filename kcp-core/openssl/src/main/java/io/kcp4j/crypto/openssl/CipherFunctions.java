package io.kcp4j.crypto.openssl;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The functions of the provider for one cipher, with numbers and types of provider-cipher(7). The
 * functions {@code EVP_CipherInit} and so on call them, but take 100 ns more for a packet, since
 * they look up parameters by name. Handles have to be constants for the JIT compiler. Packets are
 * passed as addresses: each segment would be an allocation.
 */
final class CipherFunctions {

  private static final MethodHandle NEW_CONTEXT = handle(FunctionDescriptor.of(ADDRESS, ADDRESS));
  private static final MethodHandle FREE_CONTEXT = handle(FunctionDescriptor.ofVoid(ADDRESS));
  private static final MethodHandle INIT =
      handle(
          status(ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS),
          Linker.Option.critical(false));
  private static final MethodHandle UPDATE =
      handle(
          status(ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG),
          Linker.Option.critical(false));
  private static final MethodHandle FINAL =
      handle(status(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG), Linker.Option.critical(false));
  private static final MethodHandle CIPHER =
      handle(
          status(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, JAVA_LONG),
          Linker.Option.critical(true));
  private static final MethodHandle GET_PARAMETERS =
      handle(status(ADDRESS, ADDRESS), Linker.Option.critical(false));

  private final MemorySegment newContext;
  private final MemorySegment freeContext;
  private final MemorySegment encryptInit;
  private final MemorySegment decryptInit;
  private final MemorySegment update;
  private final MemorySegment finish;
  private final MemorySegment cipher;
  private final MemorySegment getParameters;

  /**
   * Looks up the functions.
   *
   * @throws IllegalArgumentException if the provider has no such cipher
   */
  CipherFunctions(String cipher) {
    MemorySegment functions = DefaultProvider.functions(cipher);
    newContext = DefaultProvider.function(functions, 1);
    encryptInit = DefaultProvider.function(functions, 2);
    decryptInit = DefaultProvider.function(functions, 3);
    update = DefaultProvider.function(functions, 4);
    finish = DefaultProvider.function(functions, 5);
    this.cipher = DefaultProvider.function(functions, 6);
    freeContext = DefaultProvider.function(functions, 7);
    getParameters = DefaultProvider.function(functions, 10);
  }

  private static FunctionDescriptor status(MemoryLayout... parameters) {
    return FunctionDescriptor.of(JAVA_INT, parameters);
  }

  private static MethodHandle handle(FunctionDescriptor types, Linker.Option... options) {
    return Linker.nativeLinker().downcallHandle(types, options);
  }

  MemorySegment newContext() {
    try {
      return DefaultProvider.present(
          (MemorySegment) NEW_CONTEXT.invokeExact(newContext, DefaultProvider.context()));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  void freeContext(MemorySegment context) {
    try {
      FREE_CONTEXT.invokeExact(freeContext, context);
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /**
   * Begins a message.
   *
   * @param keyBytes 0 to keep the key
   * @param nonceBytes 0 for no nonce
   * @param parameters to set, or null
   */
  void init(
      boolean isEncrypting,
      MemorySegment context,
      long key,
      long keyBytes,
      long nonce,
      long nonceBytes,
      MemorySegment parameters) {
    MemorySegment init = isEncrypting ? encryptInit : decryptInit;
    try {
      check((int) INIT.invokeExact(init, context, key, keyBytes, nonce, nonceBytes, parameters));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Processes bytes; the output has the same length. */
  void update(MemorySegment context, long in, long bytes, long out, MemorySegment written) {
    try {
      check((int) UPDATE.invokeExact(update, context, out, written, bytes, in, bytes));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Ends a message, without further output, and returns whether its tag is valid. */
  boolean finish(MemorySegment context, MemorySegment written) {
    try {
      return (int) FINAL.invokeExact(finish, context, written, written, 0L) == 1;
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  /** Processes a whole message, which may be on the heap. */
  void cipher(
      MemorySegment context,
      MemorySegment in,
      long bytes,
      MemorySegment out,
      MemorySegment written) {
    try {
      check((int) CIPHER.invokeExact(cipher, context, out, written, bytes, in, bytes));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  void getParameters(MemorySegment context, MemorySegment parameters) {
    try {
      check((int) GET_PARAMETERS.invokeExact(getParameters, context, parameters));
    } catch (Throwable t) {
      throw failure(t);
    }
  }

  private static void check(int status) {
    if (status != 1) {
      throw new IllegalStateException("libcrypto failed");
    }
  }

  /** Handles declare {@link Throwable}, but throw only unchecked exceptions. */
  private static RuntimeException failure(Throwable t) {
    if (t instanceof Error e) {
      throw e;
    }
    return t instanceof RuntimeException e ? e : new IllegalStateException(t);
  }
}
