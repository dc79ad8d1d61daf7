/**
 * KCP sessions as Netty channels: {@link io.kcp4j.netty.KcpServerChannel} is the channel class of a
 * {@code ServerBootstrap}, {@link io.kcp4j.netty.KcpChannel} that of a {@code Bootstrap}. The event
 * loop group selects the transport: NIO, epoll, io_uring or kqueue.
 */
package io.kcp4j.netty;
