/**
 * KCP sessions as Netty channels: {@link io.kcp4j.netty.KcpServerChannel} is the channel class of a
 * {@code ServerBootstrap}, {@link io.kcp4j.netty.KcpChannel} that of a {@code Bootstrap}. The event
 * loop group selects the transport: NIO, epoll, io_uring or kqueue. Lanes of a session can be
 * channels, too: {@link io.kcp4j.netty.LaneChannelBootstrap} begins them, and {@link
 * io.kcp4j.netty.LaneMultiplexHandler} takes those that the peer begins.
 */
package io.kcp4j.netty;
