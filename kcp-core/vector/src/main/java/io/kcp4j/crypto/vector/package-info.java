/**
 * A kernel for Salsa20 in the Vector API of JDK 25. With this artifact on the class path or module
 * path, {@code --add-modules jdk.incubator.vector} enables it; no other configuration is needed.
 * {@link io.kcp4j.internal.crypto.Salsa20Kernel#preferred} returns the kernel in use.
 */
package io.kcp4j.crypto.vector;
