/**
 * A kernel for Salsa20 in the Vector API of JDK 25. With this artifact on the class path or module
 * path, {@code --add-modules jdk.incubator.vector} turns it on; nothing else has to be said. {@link
 * io.kcp4j.crypto.Salsa20Kernel#preferred} tells which kernel is in use.
 */
package io.kcp4j.crypto.vector;
