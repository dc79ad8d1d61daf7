/**
 * AES and the AEADs by the system's OpenSSL 3, on JDK 25. With this artifact on the class path or
 * module path it is used wherever the library is found; {@code --enable-native-access} keeps the
 * JVM from warning of it. {@link io.kcp4j.crypto.CipherLibrary#reason} tells what is in use and
 * why.
 *
 * <p><b>FIPS.</b> What computes is OpenSSL's default provider, in a library context of its own. A
 * system's configuration is not read: neither {@code openssl.cnf} nor {@code OPENSSL_CONF} counts,
 * and where they, or the kernel's FIPS mode, prescribe the validated FIPS provider, that one is not
 * used. Where it has to be, leave this artifact out, or run the JVM with {@code
 * -Dkcp4j.crypto.library=jce}: then the JVM's JCE providers compute, as {@code java.security} has
 * them, or for one key the provider given to {@link io.kcp4j.crypto.PacketKey#withProvider}.
 */
package io.kcp4j.crypto.openssl;
