/**
 * Kernels for Reed-Solomon codes in the Vector API of JDK 25. With this artifact on the class path
 * or module path, {@code --add-modules jdk.incubator.vector} enables them; no other configuration
 * is needed. {@link io.kcp4j.internal.fec.ShardKernel#preferred} returns the kernel in use.
 */
package io.kcp4j.fec.vector;
