/**
 * Lanes of a session as channels, each with a pipeline of its own: {@link
 * io.kcp4j.netty.lanes.LaneChannelBootstrap} begins them, and {@link
 * io.kcp4j.netty.lanes.LaneMultiplexHandler} takes those that the peer begins.
 */
package io.kcp4j.netty.lanes;
