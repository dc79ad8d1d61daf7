/**
 * What several kinds of channels share: sessions of KCP, their lanes, and streams of smux. Exported
 * to {@code io.kcp4j.netty.smux} only.
 */
package io.kcp4j.netty.internal;
