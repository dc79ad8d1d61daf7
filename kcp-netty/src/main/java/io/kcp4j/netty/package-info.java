/**
 * KCP sessions as Netty channels: name {@link io.kcp4j.netty.KcpServerChannel} in a {@code
 * ServerBootstrap} or {@link io.kcp4j.netty.KcpChannel} in a {@code Bootstrap}. Whether NIO, epoll,
 * io_uring or kqueue carries the datagrams follows from the event loop group.
 */
package io.kcp4j.netty;
