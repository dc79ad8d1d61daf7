/**
 * Kernels of Reed-Solomon and Salsa20 in the Vector API. They are used if the JVM runs with {@code
 * --add-modules jdk.incubator.vector}, and ignored otherwise.
 *
 * @provides io.kcp4j.internal.crypto.Salsa20Kernel
 * @provides io.kcp4j.internal.fec.ShardKernel
 */
module io.kcp4j.core.vector {
  requires io.kcp4j.core;
  requires static jdk.incubator.vector;

  exports io.kcp4j.crypto.vector;
  exports io.kcp4j.fec.vector;

  provides io.kcp4j.internal.crypto.Salsa20Kernel with
      io.kcp4j.crypto.vector.QuadsKernel;
  provides io.kcp4j.internal.fec.ShardKernel with
      io.kcp4j.fec.vector.IntLanesKernel;
}
