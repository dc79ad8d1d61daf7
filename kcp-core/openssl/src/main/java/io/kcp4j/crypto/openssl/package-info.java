/**
 * AES and the AEADs by the system's OpenSSL 3, on JDK 25. With this artifact on the class path or
 * module path it is used wherever the library is found; {@code --enable-native-access} keeps the
 * JVM from warning of it. {@link io.kcp4j.crypto.CipherLibrary#reason} tells what is in use and
 * why.
 */
package io.kcp4j.crypto.openssl;
