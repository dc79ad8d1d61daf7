/**
 * smux streams as Netty channels: many streams over one connection, of KCP, TCP or TLS. Compatible
 * with {@code github.com/xtaci/smux}, versions 1 and 2, and so with kcptun.
 *
 * <p>{@link io.kcp4j.netty.smux.SmuxHandler} goes into the pipeline of the connection. {@link
 * io.kcp4j.netty.smux.SmuxStreamChannelBootstrap} opens streams.
 */
package io.kcp4j.netty.smux;
