const views = [sentenceView, headsView, causesView, tryView, sideView, stepsView, weightsView];
start();
