/**
 * A tunnel for TCP connections through KCP, compatible with kcptun: the commands {@code
 * tunnel-client} and {@code tunnel-server}.
 */
package io.kcp4j.tunnel;
