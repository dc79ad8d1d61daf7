/**
 * AES and the AEADs of OpenSSL 3 of the system, on JDK 25. With this artifact on the class path or
 * module path it is used if the library is found; {@code --enable-native-access} avoids the warning
 * of the JVM. {@link io.kcp4j.internal.crypto.CipherLibrary#reason} returns why the library in use
 * was selected.
 *
 * <p><b>FIPS.</b> The implementation is the default provider of OpenSSL, in a library context of
 * its own. The system configuration is not read: {@code openssl.cnf} and {@code OPENSSL_CONF} are
 * ignored, and where they, or the FIPS mode of the kernel, require the validated FIPS provider, it
 * is not used. Where it is required, omit this artifact, or run the JVM with {@code
 * -Dkcp4j.crypto.library=jce}: then the JCE providers of the JVM compute, as configured in {@code
 * java.security}, or for one key the provider passed to {@link
 * io.kcp4j.crypto.PacketKey#withProvider}.
 */
package io.kcp4j.crypto.openssl;
