/**
 * Kernels for Reed-Solomon codes in the Vector API of JDK 25. With this artifact on the class path
 * or module path, {@code --add-modules jdk.incubator.vector} turns them on; nothing else has to be
 * said. {@link io.kcp4j.fec.ShardKernel#preferred} tells which kernel is in use.
 */
package io.kcp4j.fec.vector;
