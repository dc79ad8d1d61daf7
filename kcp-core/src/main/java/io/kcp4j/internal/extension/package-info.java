/** What two kcp4j peers tell each other beside KCP: offers, resets, closes, path validation. */
package io.kcp4j.internal.extension;
